import { expect, test } from 'vitest'
import { scriptedExchange } from '../../test/scripted-exchange.ts'
import { answer } from '../../test/scripted-server.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const exchange = scriptedExchange()

const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
const account = {
  owner: 'Ada',
  accountNumber: '1234567890',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
} as const

test('a bank account is registered by hand with exactly the documented members', async () => {
  exchange.server.script(answer(201, { id: 'fi' }))
  const created = await exchange.client.financialInstitutions.createExternal(accountId, account, {
    idempotencyKey: 'fi-1',
  })
  expect(created).toMatchObject({ id: 'fi', idempotencyKey: 'fi-1' })
  const wired = { street_line_1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  expect(exchange.server.requests[0]?.headers['idempotency-key']).toBe('fi-1')
  expect(JSON.parse(exchange.server.requests[0]?.body ?? '')).toEqual({
    owner: 'Ada',
    account_number: '1234567890',
    routing_number: '021000021',
    beneficiary_address: wired,
    bank_address: wired,
    account_type: 'checking',
  })
})

test('a number with a wrong checksum is refused before anything is sent', async () => {
  const wrong = { ...account, routingNumber: '123456789' }
  await expect(exchange.client.financialInstitutions.createExternal(accountId, wrong)).rejects.toMatchObject({
    code: 'invalid_routing_number',
    issues: [{ field: 'routingNumber' }],
  })
  expect(exchange.server.requests).toEqual([])
})

test('a list may be wrapped or bare', async () => {
  exchange.server.script(answer(200, { financial_institutions: [{ id: 'fi' }] }), answer(200, [{ id: 'fi' }]))
  for (const _ of [1, 2]) {
    const { items } = await exchange.client.financialInstitutions.list(accountId)
    expect(items.map((institution) => institution.id)).toEqual(['fi'])
  }
})

test('one that has to be linked again is found by its status and opened by a token', async () => {
  exchange.server.script(
    answer(200, { status: 'active', last_updated: '2026-01-02T03:04:05Z', needs_update: true }),
    answer(200, { link_token: 'link-2' }),
  )
  const state = await exchange.client.financialInstitutions.getStatus(accountId, 'fi')
  expect(state).toMatchObject({ financialInstitutionId: 'fi', needsUpdate: true })
  expect(await exchange.client.financialInstitutions.createUpdateLinkToken(accountId, 'fi')).toEqual({
    linkToken: 'link-2',
  })
})

test('a missing one is undefined', async () => {
  exchange.server.script(answer(404, { code: 'not_found' }))
  expect(await exchange.client.financialInstitutions.get(accountId, 'fi')).toBeUndefined()
  expect(await exchange.client.financialInstitutions.getStatus(accountId, 'fi')).toBeUndefined()
})
