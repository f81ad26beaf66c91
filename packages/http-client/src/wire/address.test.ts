import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { decodeAccount, decodeAccountId } from './account.ts'
import { decodeAddress } from './address.ts'
import { decodeBalance } from './balance.ts'
import { parseJson } from './json.ts'

test('an address may have only its id and type', () => {
  expect(decodeAddress({ id: 'a', type: 'internal' })).toEqual({ id: 'a', type: 'internal', transferTypes: [] })
})

test('a complete bank address is read, its routing number as nine digits', () => {
  const place = { street_line_1: '1 Main St', city: 'Austin', state: 'TX', zip: 78701 }
  const address = decodeAddress({
    id: 'a',
    type: 'EXTERNAL',
    status: 'active',
    name: 'Payroll',
    address: '',
    transfer_types: ['wire', 'rtp_credit', 'ACH_CREDIT'],
    created: '2026-01-02T03:04:05Z',
    owner: 'Ada',
    account_type: 'checking',
    bank_address: place,
    beneficiary_address: place,
    routing_number: 21000021,
    account_number: '****7890',
  })
  expect(address).toMatchObject({
    type: 'external',
    address: '',
    transferTypes: ['wire', 'rtp', 'ach_credit'],
    routingNumber: '021000021',
    accountNumber: '****7890',
    bankAddress: { streetLine1: '1 Main St', zip: '78701' },
  })
})

test('an address of an unknown type is unreadable', () => {
  expect(() => decodeAddress({ id: 'a' })).toThrow(OutlayError)
})

test.each([
  [
    '{"address": {"id": "a", "address": "0x1"}, "balance": {"value": "5.1", "currency": "USDC"}, "available": {"value": "4", "currency": "usdc"}, "value_type": "USDC", "transfer_type": "base"}',
    '4',
  ],
  [
    '{"address_id": "a", "address": "0x1", "balance": "5.1", "available": 4, "value_type": "usdc", "transfer_type": "Base"}',
    '4',
  ],
  ['{"addressId": "a", "address": "0x1", "amount": {"value": 5.1, "currency": "USDC"}, "transferType": "base"}', '5.1'],
])('a balance is read in every shape (%#)', (text, available) => {
  expect(decodeBalance(parseJson(text))).toEqual({
    address: { id: 'a', address: '0x1' },
    balance: { value: '5.1', currency: 'USDC' },
    available: { value: available, currency: 'USDC' },
    valueType: 'USDC',
    transferType: 'base',
  })
})

test('an account is read with its owners, and without missing members', () => {
  const place = { street_line_1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  expect(
    decodeAccount({
      id: 'a',
      status: 'completed',
      business_name: 'Acme',
      address: place,
      ultimate_beneficial_owners: [{ name: 'Ada', ssn: '***-**-6789', address: place }],
    }),
  ).toMatchObject({
    id: 'a',
    status: 'complete',
    businessName: 'Acme',
    email: '',
    ultimateBeneficialOwners: [{ name: 'Ada', ssn: '***-**-6789', address: { city: 'Austin' } }],
  })
})

test('a list of accounts has ids or accounts', () => {
  expect(['a', { id: 'b' }].map(decodeAccountId)).toEqual(['a', 'b'])
})
