import type { Registration } from '@outlay/core'
import { expect, test } from 'vitest'
import { scriptedExchange } from '../test/scripted-exchange.ts'
import { answer, reset, resetMidBody } from '../test/scripted-server.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }

const registration: Registration = {
  transferId: '01BX5ZZKBKACTAV9WEVGEMMVRZ',
  accountId,
  idempotencyKey: '01BX5ZZKBKACTAV9WEVGEMMVRZ-address',
  attempt: 1,
  address: {
    kind: 'bank_account',
    owner: 'Ada Lovelace',
    name: 'Ada',
    accountNumber: '1234567890',
    routingNumber: '021000021',
    accountType: 'checking',
    bankAddress: place,
    beneficiaryAddress: place,
    transferTypes: ['wire'],
  },
}

const exchange = scriptedExchange()

const register = () => exchange.gateway.registerAddress?.(registration, { signal: new AbortController().signal })

test('a registration is one POST with the documented body, its own key and the token', async () => {
  exchange.server.script(answer(201, { id: 'address-1' }, { 'x-request-id': 'request-1' }))
  expect(await register()).toEqual({
    outcome: 'accepted',
    addressId: 'address-1',
    keyEvaluated: true,
    httpStatus: 201,
    requestId: 'request-1',
  })
  const [request] = exchange.server.requests
  expect(request?.method).toBe('POST')
  expect(request?.url).toBe(`/accounts/${accountId}/addresses/external`)
  expect(request?.headers).toMatchObject({
    authorization: 'Bearer token-1',
    'idempotency-key': registration.idempotencyKey,
  })
  const street = { street_line_1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  expect(JSON.parse(request?.body ?? '')).toEqual({
    owner: 'Ada Lovelace',
    name: 'Ada',
    account_number: '1234567890',
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: street,
    beneficiary_address: street,
    transfer_types: ['wire'],
  })
})

test('a refusal names the member as the host spelled it, and repeats no bank details', async () => {
  const errors = [
    { code: 'invalid_account_number', detail: '1234567890 is closed', source: { pointer: '/account_number' } },
    { code: 'missing_field', detail: 'is required for Ada Lovelace', source: { pointer: '/bank_address/country' } },
  ]
  exchange.server.script(answer(422, { code: 'invalid_account_number', detail: 'refused', errors }))
  expect(await register()).toEqual({
    outcome: 'rejected',
    code: 'invalid_account_number',
    detail:
      'destination.address.accountNumber: [redacted] is closed; destination.address.bankAddress.country: is required for [redacted]',
    httpStatus: 422,
    keyEvaluated: true,
    requestId: undefined,
  })
})

test.each([
  [answer(422, { code: 'idempotency_key_mismatch' }), 'key_mismatch'],
  [answer(403, {}), 'unauthorized'],
  [answer(429, {}, { 'retry-after': '7' }), 'throttled'],
  [answer(409, { code: 'idempotency_key_in_flight' }), 'throttled'],
  [answer(503, {}), 'unknown'],
  [answer(201, {}), 'unknown'],
  [reset, 'unknown'],
  [resetMidBody(201), 'unknown'],
  [answer(404, {}), 'unknown'],
  [answer(404, { code: 'not_found' }), 'rejected'],
  [answer(422, { code: 'insufficient_balance' }), 'rejected'],
] as const)('every other answer has an outcome: %#', async (step, outcome) => {
  exchange.server.script(step)
  expect(await register()).toMatchObject({ outcome })
})
