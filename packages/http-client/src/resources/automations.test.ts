import { OutlayError } from '@outlay/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { answer, reset, type ScriptedServer, startServer } from '../../test/scripted-server.ts'
import { type Client, createClient } from '../client.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const wallet = '01BX5ZZKBKACTAV9WEVGEMMVS0'

let server: ScriptedServer
let client: Client

beforeEach(async () => {
  server = await startServer()
  const credentials = { clientId: 'client', clientSecret: 'secret' }
  client = createClient({ baseUrl: server.url, credentials, wait: async () => {} })
})

afterEach(async () => {
  await client.close()
  await server.close()
})

const request = {
  name: 'Treasury',
  source: { valueType: 'usd' },
  destination: { addressId: wallet, valueType: 'sbc', transferType: 'Base' },
  brand: { accountId },
}

const record = (id: string) => ({
  id,
  name: 'Treasury',
  status: 'pending',
  source: { value_type: 'USD', transfer_type: null },
  destination: { address_id: wallet, value_type: 'SBC', transfer_type: 'base' },
  created_at: '2026-01-02T03:04:05.678Z',
  updated_at: '2026-01-02T03:04:05.678Z',
})

test('an automation is sent in the documented shape and canonical spelling, and retried with the same key', async () => {
  server.script(reset, answer(201, record('m')))
  const created = await client.automations.create(accountId, request)
  expect(created).toMatchObject({ id: 'm', automation: { status: 'pending', source: { transferType: null } } })
  const [lost, got] = server.requests
  expect(got).toMatchObject({ method: 'POST', url: `/accounts/${accountId}/automations`, body: lost?.body })
  expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
    created.idempotencyKey,
    created.idempotencyKey,
  ])
  expect(JSON.parse(got?.body ?? '')).toEqual({
    name: 'Treasury',
    source: { value_type: 'USD' },
    destination: { address_id: wallet, value_type: 'SBC', transfer_type: 'base' },
    brand: { account_id: accountId },
  })
})

test('a create whose answer has only the id returns no automation', async () => {
  server.script(answer(201, { id: 'm' }))
  expect(await client.automations.create(accountId, request)).toMatchObject({ id: 'm', automation: undefined })
})

test('an invalid request is refused before anything is sent', async () => {
  const offramp = { ...request, source: { valueType: 'USDC' } }
  await expect(client.automations.create(accountId, offramp)).rejects.toMatchObject({
    code: 'unsupported_flow',
    field: 'source.valueType',
  })
  expect(server.requests).toEqual([])
})

test('a list may be wrapped or bare', async () => {
  server.script(answer(200, { automations: [record('m')] }), answer(200, [record('m')]), answer(200, []))
  for (const ids of [['m'], ['m'], []]) {
    const { items, next } = await client.automations.list(accountId)
    expect(items.map((automation) => automation.id)).toEqual(ids)
    expect(next).toBeUndefined()
  }
  expect(server.requests[0]?.url).toBe(`/accounts/${accountId}/automations`)
})

test('all pages are read when the service paginates', async () => {
  server.script(
    answer(200, { automations: [record('m1')], pagination: { next: 'two' } }),
    answer(200, { automations: [record('m2')], pagination: { next: null } }),
  )
  const ids = []
  for await (const automation of client.automations.iterate(accountId)) ids.push(automation.id)
  expect(ids).toEqual(['m1', 'm2'])
})

test('a missing automation is undefined', async () => {
  server.script(answer(404, { code: 'not_found' }))
  expect(await client.automations.get(accountId, 'm')).toBeUndefined()
})

test('an automation is disabled and archived by its status', async () => {
  server.script(answer(200, { ...record('m'), status: 'disabled' }), answer(204), answer(409, { code: 'conflict' }))
  expect(await client.automations.update(accountId, 'm', { status: 'disabled' })).toMatchObject({ status: 'disabled' })
  expect(await client.automations.update(accountId, 'm', { status: 'archived' })).toBeUndefined()
  const refused = client.automations.update(accountId, 'm', { status: 'archived' })
  await expect(refused).rejects.toSatisfy((error) => OutlayError.is(error, 'conflict'))
  expect(server.requests[0]).toMatchObject({ method: 'PATCH', body: '{"status":"disabled"}' })
})
