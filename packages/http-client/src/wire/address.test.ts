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

test.each([
  ['its numbers', { account_number: '****7890', routingNumber: 21000021 }],
  ['its rails', { transfer_types: ['ach_debit'] }],
])('a bank account without a type is external, by %s', (_, members) => {
  expect(decodeAddress({ id: 'a', ...members }).type).toBe('external')
})

test.each([
  ['a wallet without a type', { transfer_types: ['base'], address: '0x0' }],
  ['a bank account of another type', { type: 'joint', account_number: '****7890' }],
])('%s is unreadable, by its type', (_, members) => {
  expect(() => decodeAddress({ id: 'a', ...members })).toThrow(expect.objectContaining({ field: 'type' }))
})

test('the members of the public contract are read', () => {
  const sent = {
    id: 'a',
    type: 'external',
    is_primary: true,
    needs_update: false,
    last_updated: '2026-01-02T03:04:05Z',
    routingNumber: '021000021',
    transfer_types: ['wire'],
  }
  expect(decodeAddress(sent)).toMatchObject({
    isPrimary: true,
    needsUpdate: false,
    lastUpdated: '2026-01-02T03:04:05Z',
    routingNumber: '021000021',
  })
})
