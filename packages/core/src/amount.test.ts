import { describe, expect, it } from 'vitest'
import { Amount } from './amount.ts'

const usd = (value: string) => Amount.of(value, 'USD')

describe('Amount.parse', () => {
  it.each(['0', '0.00', '1', '1250.00', '0.000001', '9'.repeat(30)])('reads %s', (value) => {
    expect(Amount.parse({ value, currency: 'USD' })).toEqual({ value, currency: 'USD' })
  })

  it.each([
    ['1e3'],
    ['-1'],
    ['+1'],
    ['NaN'],
    ['Infinity'],
    ['1,000.00'],
    ['1_000'],
    [' 1'],
    ['1 '],
    ['1\n'],
    ['.5'],
    ['5.'],
    [''],
    ['007'],
    ['0x10'],
    ['١٢'],
    [1],
    [1n],
    [null],
    [undefined],
    [['1']],
  ])('refuses %s as a value', (value) => {
    expect(() => Amount.parse({ value, currency: 'USD' })).toThrow(
      expect.objectContaining({ code: 'invalid_amount', field: 'amount.value' }),
    )
  })

  it('refuses more than 30 digits before the point', () => {
    expect(() => usd('1'.repeat(31))).toThrow(expect.objectContaining({ code: 'amount_too_large' }))
  })

  it('does not read a text of more than a thousand characters, whatever it holds', () => {
    expect(() => usd('1'.repeat(1000))).toThrow(expect.objectContaining({ code: 'amount_too_large' }))
    expect(() => usd('1'.repeat(1001))).toThrow(expect.objectContaining({ code: 'invalid_amount' }))
  })

  it('names its members alone where it is the whole input', () => {
    expect(() => Amount.parse({ value: '-1', currency: 'USD' }, { field: '' })).toThrow(
      expect.objectContaining({ field: 'value' }),
    )
    expect(() => Amount.parse({ value: '1' }, { field: '' })).toThrow(expect.objectContaining({ field: 'currency' }))
  })

  it('refuses a fraction finer than the scale, in the path that it was given', () => {
    expect(() => Amount.parse({ value: '1.001', currency: 'USD' }, { scale: 2, field: 'limits.0' })).toThrow(
      expect.objectContaining({ code: 'amount_too_precise', field: 'limits.0.value' }),
    )
  })

  it('refuses another currency than the one asked for', () => {
    expect(Amount.parse({ value: '1', currency: 'USD' }, { currency: 'USD' })).toEqual(usd('1'))
    expect(() => Amount.parse({ value: '1', currency: 'MXN' }, { currency: 'USD' })).toThrow(
      expect.objectContaining({ code: 'currency_mismatch', field: 'amount.currency' }),
    )
  })

  it.each([null, 'x', 5, undefined])('refuses %j as an amount', (input) => {
    expect(() => Amount.parse(input)).toThrow(expect.objectContaining({ code: 'invalid_amount', field: 'amount' }))
  })

  it('refuses an amount without a currency', () => {
    for (const input of [{ value: '1' }, { value: '1', currency: '' }, { value: '1', currency: 840 }]) {
      expect(() => Amount.parse(input)).toThrow(
        expect.objectContaining({ code: 'missing_field', field: 'amount.currency' }),
      )
    }
  })
})

describe('Amount arithmetic', () => {
  it('is exact where floating point is not', () => {
    expect(Amount.add(usd('0.1'), usd('0.2'))).toEqual(usd('0.3'))
    expect(Amount.add(usd('999999999999999999999999999999'), usd('0.000001')).value).toBe(
      '999999999999999999999999999999.000001',
    )
  })

  it('keeps the longer fraction', () => {
    expect(Amount.add(usd('1.10'), usd('2')).value).toBe('3.10')
    expect(Amount.subtract(usd('1.10'), usd('0.1')).value).toBe('1.00')
    expect(Amount.subtract(usd('1'), usd('1.00')).value).toBe('0.00')
  })

  it('never goes below zero', () => {
    expect(() => Amount.subtract(usd('1'), usd('1.01'))).toThrow(expect.objectContaining({ code: 'invalid_amount' }))
    expect(() => Amount.fromUnits(-1n, 'USD', 2)).toThrow(expect.objectContaining({ code: 'invalid_amount' }))
  })

  it('refuses to mix currencies', () => {
    const mxn = Amount.of('1', 'MXN')
    for (const combine of [Amount.add, Amount.subtract, Amount.compare]) {
      expect(() => combine(usd('1'), mxn)).toThrow(expect.objectContaining({ code: 'currency_mismatch' }))
    }
    expect(Amount.equals(usd('1'), mxn)).toBe(false)
  })

  it('compares numbers, not text', () => {
    expect(Amount.compare(usd('9'), usd('10'))).toBe(-1)
    expect(Amount.compare(usd('1.5'), usd('1.50'))).toBe(0)
    expect(Amount.compare(usd('2'), usd('1.99'))).toBe(1)
    expect(Amount.equals(usd('1.5'), usd('1.50'))).toBe(true)
  })

  it('knows what is positive', () => {
    expect(Amount.isPositive(usd('0.00'))).toBe(false)
    expect(Amount.isPositive(usd('0.01'))).toBe(true)
  })

  it('counts smallest units', () => {
    expect(Amount.toUnits(usd('1250.5'), 2)).toBe(125050n)
    expect(Amount.toUnits(usd('1.500000'), 2)).toBe(150n)
    expect(Amount.fromUnits(5n, 'USD', 2)).toEqual(usd('0.05'))
    expect(Amount.fromUnits(5n, 'JPY', 0).value).toBe('5')
    expect(() => Amount.toUnits(usd('0.001'), 2)).toThrow(expect.objectContaining({ code: 'amount_too_precise' }))
  })

  it('writes exactly as many digits as the scale has', () => {
    expect(Amount.format(usd('1'), 2)).toBe('1.00')
    expect(Amount.format(usd('1.500'), 2)).toBe('1.50')
  })
})

describe('Amount.allocate', () => {
  const shares = (value: string, weights: (number | bigint)[]) =>
    Amount.allocate(usd(value), weights, 2).map((share) => share.value)

  it('gives the odd unit to the earlier of equals', () => {
    expect(shares('100.00', [1, 1, 1])).toEqual(['33.34', '33.33', '33.33'])
    expect(shares('0.02', [1, 1, 1])).toEqual(['0.01', '0.01', '0.00'])
  })

  it('gives the odd unit to the largest remainder first', () => {
    expect(shares('0.05', [3, 7])).toEqual(['0.02', '0.03'])
    expect(shares('10.00', [1, 2])).toEqual(['3.33', '6.67'])
  })

  it('gives nothing to a weight of zero', () => {
    expect(shares('1.00', [0, 1n, 0])).toEqual(['0.00', '1.00', '0.00'])
  })

  it.each([[[]], [[0, 0]], [[-1, 2]], [[0.5, 0.5]], [[-1n]]])('throws Error for the weights %s', (weights) => {
    expect(() => Amount.allocate(usd('1'), weights, 2)).toThrow(/weight/)
  })
})
