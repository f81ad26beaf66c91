import { OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { findOperation } from '../openapi/operations.ts'
import { checkShape, inSpellingOf } from './body-shape.ts'

const check = (path: string, body: unknown): unknown => {
  const documented = findOperation('POST', path)?.body
  if (documented === undefined) throw new Error('There is no such operation.')
  try {
    checkShape(documented, body)
    return []
  } catch (error) {
    if (!OutlayError.is(error)) throw error
    return error.issues.map(({ field, code, message }) => [field, code, message])
  }
}
const transfers = '/accounts/:account_id/transfers'
const addresses = '/accounts/:account_id/addresses/external'

const transfer = {
  amount: { value: '1', currency: 'USDC' },
  source: { address_id: 'a', value_type: 'USDC', transfer_type: 'base' },
  destination: { address_id: 'b', value_type: 'USDC', transfer_type: 'base' },
}
const camelTransfer = {
  amount: { value: '1', currency: 'USDC' },
  source: { addressId: 'a', valueType: 'USDC', transferType: 'base' },
  destination: { addressId: 'b', valueType: 'USDC', transferType: 'base' },
}

it('accepts a body in either spelling, with null for optional members and with unknown members', () => {
  for (const path of [transfers, '/accounts/:account_id/transfer']) {
    expect(check(path, transfer)).toEqual([])
    expect(check(path, camelTransfer)).toEqual([])
    expect(check(path, { ...transfer, note: null, brand: null, more: 1 })).toEqual([])
  }
})

it('names every member that is missing or of another type, without quoting it', () => {
  const body = { amount: { value: 12.5 }, source: 'secret', destination: { ...transfer.destination, address_id: 7 } }
  expect(check(transfers, body)).toEqual([
    ['amount.value', 'invalid_amount', 'must be a string'],
    ['amount.currency', 'missing_field', 'is required'],
    ['source', 'invalid_request', 'must be an object'],
    ['destination.address_id', 'invalid_id', 'must be a string'],
  ])
})

it('names members as the caller spelled them', () => {
  const { valueType: _, ...source } = camelTransfer.source
  expect(check(transfers, { ...camelTransfer, source: { ...source, addressId: 7 } })).toEqual([
    ['source.addressId', 'invalid_id', 'must be a string'],
    ['source.valueType', 'missing_field', 'is required'],
  ])
})

it.each([null, [], 'text', 1, true])('refuses %j, which is not an object', (body) => {
  expect(check(transfers, body)).toEqual([['', 'invalid_request', 'must be an object']])
})

it('distinguishes a bank account from a wallet by its members', () => {
  const place = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: 62701 }
  expect(check(addresses, { name: 'A', transfer_types: ['wire'], owner: 'B', bank_address: place })).toEqual([
    ['account_number', 'missing_field', 'is required'],
    ['account_type', 'missing_field', 'is required'],
    ['bank_address.zip', 'invalid_request', 'must be a string'],
    ['beneficiary_address', 'missing_field', 'is required'],
  ])
  expect(check(addresses, { name: 'A', address: '0x', transfer_types: 'base' })).toEqual([
    ['transfer_types', 'invalid_request', 'must be an array'],
  ])
})

it.each([
  [transfer, 'source.address_id'],
  [camelTransfer, 'source.addressId'],
])('names the member of a later refusal as %j spells it', async (body, field) => {
  const refuse = () => {
    throw OutlayError.fromIssues([{ field: 'source.addressId', code: 'invalid_address', message: 'is unknown' }])
  }
  await expect(inSpellingOf(body, refuse)).rejects.toMatchObject({
    code: 'invalid_address',
    message: `${field}: is unknown`,
    field,
    issues: [{ field, code: 'invalid_address', message: 'is unknown' }],
  })
})

it('leaves headers, parameters and other errors as they are', async () => {
  const header = new OutlayError('idempotency_key_invalid', 'No.', { field: 'Idempotency-Key:' })
  const plain = new Error('Broken.')
  for (const error of [header, plain]) {
    await expect(inSpellingOf(transfer, () => Promise.reject(error))).rejects.toBe(error)
  }
})

it('text that is too long keeps the code that the domain has for it', () => {
  const long = 'x'.repeat(5_000)
  const body = { ...transfer, destination: { ...transfer.destination, wire_memo: long, value_type: long }, note: long }
  expect(check(transfers, body)).toEqual([
    ['destination.value_type', 'invalid_request', 'must be at most 4096 characters'],
    ['destination.wire_memo', 'wire_memo_too_long', 'must be at most 4096 characters'],
    ['note', 'note_too_long', 'must be at most 4096 characters'],
  ])
})
