import {
  Address,
  BankAccount,
  type BuiltInChainFamily,
  defaultCatalog,
  OutlayError,
  parseExternalAddress,
} from '@outlay/core'
import { describe, expect, test } from 'vitest'
import {
  accountNumbers,
  addresses,
  brokenAddresses,
  brokenClabe,
  brokenRoutingNumbers,
  clabes,
  routingNumbers,
  usBankAccount,
} from './fixtures.ts'

describe.each(Object.keys(addresses) as BuiltInChainFamily[])('%s', (family) => {
  test('addresses are valid and differ', () => {
    for (const address of addresses[family]) expect(Address.parse(family, address)).toBe(address)
    expect(new Set(addresses[family]).size).toBe(2)
  })

  test('the broken address is refused', () => {
    const parse = () => Address.parse(family, brokenAddresses[family])
    expect(parse).toThrow(expect.toSatisfy((error: unknown) => OutlayError.is(error)))
  })
})

test('numbers of banks and accounts pass, and the broken ones do not', () => {
  expect(routingNumbers.every(BankAccount.isRoutingNumber)).toBe(true)
  expect(brokenRoutingNumbers.some(BankAccount.isRoutingNumber)).toBe(false)
  expect(accountNumbers.every(BankAccount.isAccountNumber)).toBe(true)
  expect(clabes.every(BankAccount.isClabe)).toBe(true)
  expect(BankAccount.isClabe(brokenClabe)).toBe(false)
})

test('the bank account can be registered', () => {
  expect(parseExternalAddress(usBankAccount, defaultCatalog)).toEqual({ kind: 'bank_account', ...usBankAccount })
})
