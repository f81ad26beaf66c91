import { describe, expect, it } from 'vitest'
import { createCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import { parseQuoteRequest, Quote } from './quote.ts'

const catalog = createCatalog({ valueTypes: [{ name: 'JPY', kind: 'fiat', scale: 0 }] })
const parse = (body: unknown) => parseQuoteRequest(body, catalog)
const issuesOf = (body: unknown): string[] => {
  try {
    parse(body)
  } catch (error) {
    if (OutlayError.is(error)) return error.issues.map(({ code, field }) => `${code} ${field}`)
    throw error
  }
  return []
}

const usdc = { name: 'USDC', scale: 6 }
const mxn = { name: 'MXN', scale: 2 }
const jpy = { name: 'JPY', scale: 0 }
const amount = (value: string, currency: string) => ({ value, currency })
const request = {
  amount: amount('100', 'USDC'),
  source: { valueType: 'USDC' },
  destination: { valueType: 'MXN' },
}

describe('parseQuoteRequest', () => {
  it('accepts an amount of either side, in either spelling and under aliases', () => {
    expect(parse(request)).toStrictEqual(request)
    const snake = {
      amount: amount('1850.55', 'mxn'),
      source: { value_type: 'usdc', transfer_type: 'base' },
      destination: { value_type: 'Mxn' },
    }
    expect(parse(snake)).toStrictEqual({ ...request, amount: amount('1850.55', 'MXN') })
  })

  it.each([
    [{ ...request, amount: amount('100', 'USD') }, 'currency_mismatch amount.currency'],
    [{ ...request, amount: amount('100', 'USDT') }, 'currency_mismatch amount.currency'],
    [{ ...request, amount: amount('0.00', 'USDC') }, 'amount_not_positive amount.value'],
    [{ ...request, amount: amount('1.234', 'MXN') }, 'amount_too_precise amount.value'],
    [{ ...request, amount: { value: 1, currency: 'MXN' } }, 'invalid_amount amount.value'],
    [{ ...request, amount: amount('-1', 'MXN') }, 'invalid_amount amount.value'],
    [{ ...request, amount: { currency: 'MXN' } }, 'missing_field amount.value'],
    [{ ...request, amount: amount('1', 'ABC') }, 'unknown_value_type amount.currency'],
    [{ ...request, amount: undefined }, 'missing_field amount'],
    [{ ...request, source: { valueType: 'ABC' } }, 'unknown_value_type source.valueType'],
    [{ ...request, source: {} }, 'missing_field source.valueType'],
    [{ ...request, destination: undefined }, 'missing_field destination'],
    [{ ...request, destination: { valueType: 'USDT' } }, 'invalid_request destination.valueType'],
    [{ ...request, amount: amount('1', 'MXN'), source: { valueType: 'USD' } }, 'unsupported_flow source.valueType'],
  ])('refuses %j: %s', (body, issue) => {
    expect(issuesOf(body)).toEqual([issue])
  })

  it('names every broken rule at once', () => {
    expect(issuesOf({ amount: amount('x', 'y'), source: { valueType: 'a' } })).toEqual([
      'unknown_value_type source.valueType',
      'missing_field destination',
      'unknown_value_type amount.currency',
      'invalid_amount amount.value',
    ])
  })
})

describe('Quote.convert', () => {
  it.each([
    [amount('100', 'USDC'), '18.5', usdc, mxn, '100', '1850.00'],
    // Less than a cent is left over, and stays with whoever gives the rate.
    [amount('0.333333', 'USDC'), '18.5', usdc, mxn, '0.333333', '6.16'],
    [amount('100.00', 'MXN'), '18.5', usdc, mxn, '5.405406', '100.00'],
    [amount('92.50', 'MXN'), '18.5', usdc, mxn, '5.000000', '92.50'],
    [amount('0.000001', 'USDC'), '18.5', usdc, mxn, '0.000001', '0.00'],
    [amount('1.999999', 'USDC'), '150', usdc, jpy, '1.999999', '299'],
    [amount('1', 'JPY'), '150', usdc, jpy, '0.006667', '1'],
  ])('%j at %s', (fixed, rate, source, destination, taken, given) => {
    const quoted = Quote.convert(fixed, rate, { source, destination })
    expect([quoted.sourceAmount.value, quoted.destinationAmount.value]).toEqual([taken, given])
    expect(Quote.agrees(quoted, { source, destination })).toBe(true)
  })
})

describe('Quote.agrees', () => {
  const agrees = (taken: string, given: string, fixedSide: 'source' | 'destination', rate = '18.5') =>
    Quote.agrees(
      { rate, fixedSide, sourceAmount: amount(taken, 'USDC'), destinationAmount: amount(given, 'MXN') },
      { source: usdc, destination: mxn },
    )

  it('allows less than one unit of the side that is not fixed, either way', () => {
    expect(agrees('0.333333', '6.16', 'source')).toBe(true)
    expect(agrees('0.333333', '6.17', 'source')).toBe(true)
    expect(agrees('0.333333', '6.15', 'source')).toBe(false)
    expect(agrees('0.333333', '6.18', 'source')).toBe(false)
    expect(agrees('5.405405', '100.00', 'destination')).toBe(true)
    expect(agrees('5.405406', '100.00', 'destination')).toBe(true)
    expect(agrees('5.405404', '100.00', 'destination')).toBe(false)
    expect(agrees('5.405407', '100.00', 'destination')).toBe(false)
  })

  it('does not take a unit for an error where the amount is exact', () => {
    expect(agrees('100', '1850.00', 'source')).toBe(true)
    expect(agrees('100', '1850.01', 'source')).toBe(false)
    expect(agrees('100', '1849.99', 'source')).toBe(false)
    expect(agrees('100', '1850.00', 'source', '18.500000000000000001')).toBe(true)
    expect(agrees('100', '1850.00', 'source', '0.0185')).toBe(false)
  })
})

describe('Quote.sourceShare', () => {
  const quote = { sourceAmount: amount('5.405406', 'USDC'), destinationAmount: amount('100.00', 'MXN') }
  const share = (before: string, now: string) => Quote.sourceShare(quote, { before, now }, 6).value

  it('is all of it for the whole, and nothing for less than a unit', () => {
    expect(share('0', '100')).toBe('5.405406')
    expect(share('0', '0.000001')).toBe('0.000000')
  })

  it('has the digits that the amount has, where its value type has fewer by now', () => {
    expect(Quote.sourceShare(quote, { before: '0', now: '100' }, 2).value).toBe('5.405406')
  })

  it('of three thirds is the whole, with the remainder in the last one', () => {
    expect([share('0', '33.33'), share('33.33', '33.33'), share('66.66', '33.34')]).toEqual([
      '1.801621',
      '1.801622',
      '1.802163',
    ])
  })
})
