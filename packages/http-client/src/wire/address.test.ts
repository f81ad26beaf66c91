import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { decodeAddress } from './address.ts'

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
