import { clabe } from 'clabe-validator'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BankAccount } from './bank-account.ts'

describe('BankAccount', () => {
  it.each(['021000021', '071000013', '063108680', '011000015'])('accepts the routing number %s', (number) => {
    expect(BankAccount.parseRoutingNumber(number)).toBe(number)
  })

  it.each(['123456789', '987654321', '000111222', '000000000', '02100002', '0210000210', '02100002a', 21000021])(
    'refuses the routing number %s',
    (number) => {
      expect(() => BankAccount.parseRoutingNumber(number, 'routing_number')).toThrow(
        expect.objectContaining({ code: 'invalid_routing_number', field: 'routing_number' }),
      )
    },
  )

  it.each(['1234', '12345678901234567'])('accepts the account number %s', (number) => {
    expect(BankAccount.parseAccountNumber(number)).toBe(number)
  })

  it.each(['123', '123456789012345678', '12345a', '12-345', ' 1234', 12345, null])(
    'refuses the account number %s',
    (number) => {
      expect(() => BankAccount.parseAccountNumber(number)).toThrow(
        expect.objectContaining({ code: 'invalid_account_number' }),
      )
    },
  )

  it('accepts a CLABE and refuses a wrong one', () => {
    expect(BankAccount.parseClabe('032180000118359719')).toBe('032180000118359719')
    expect(() => BankAccount.parseClabe('032180000118359718')).toThrow(
      expect.objectContaining({ code: 'invalid_clabe' }),
    )
    expect(() => BankAccount.parseClabe('03218000011835971')).toThrow(
      expect.objectContaining({ code: 'invalid_clabe' }),
    )
  })

  it('pads a routing number that came as a number', () => {
    expect(BankAccount.readRoutingNumber(21000021)).toBe('021000021')
    expect(BankAccount.readRoutingNumber('021000021')).toBe('021000021')
    expect(BankAccount.readRoutingNumber(null)).toBeUndefined()
  })

  it('shows the last four digits only', () => {
    expect(BankAccount.mask('1234567890')).toBe('****7890')
  })
})

const digits = (length: number) =>
  fc.array(fc.nat(9), { minLength: length, maxLength: length }).map((list) => list.join(''))
const changed = (text: string, at: number, by: number) =>
  text.slice(0, at) + ((Number(text[at]) + by) % 10) + text.slice(at + 1)

describe('checksums of bank numbers', () => {
  it('agree with another implementation of the CLABE', () => {
    fc.assert(
      fc.property(digits(17), (number) => {
        const right = number + clabe.computeChecksum(number)
        expect(BankAccount.isClabe(right)).toBe(true)
        expect(BankAccount.isClabe(changed(right, 17, 1))).toBe(false)
      }),
    )
  })

  it('refuse every change of one digit', () => {
    const change = fc.tuple(fc.nat(17), fc.integer({ min: 1, max: 9 }))
    fc.assert(
      fc.property(change, ([at, by]) => {
        expect(BankAccount.isClabe(changed('032180000118359719', at, by))).toBe(false)
        expect(BankAccount.isRoutingNumber(changed('021000021', at % 9, by))).toBe(false)
      }),
    )
  })
})
