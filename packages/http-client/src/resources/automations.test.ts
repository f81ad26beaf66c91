import { OutlayError } from '@outlay/core'
import { expect, test } from 'vitest'
import { scriptedExchange } from '../../test/scripted-exchange.ts'
import { answer, reset } from '../../test/scripted-server.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const wallet = '01BX5ZZKBKACTAV9WEVGEMMVS0'
const exchange = scriptedExchange()

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
  exchange.server.script(reset, answer(201, record('m')))
  const created = await exchange.client.automations.create(accountId, request)
  expect(created).toMatchObject({ id: 'm', automation: { status: 'pending', source: { transferType: null } } })
  const [lost, got] = exchange.server.requests
  expect(got).toMatchObject({ method: 'POST', url: `/accounts/${accountId}/automations`, body: lost?.body })
  expect(exchange.server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
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
  exchange.server.script(answer(201, { id: 'm' }))
  expect(await exchange.client.automations.create(accountId, request)).toMatchObject({ id: 'm', automation: undefined })
})

test('an invalid request is refused before anything is sent', async () => {
  const offramp = { ...request, source: { valueType: 'USDC' } }
  await expect(exchange.client.automations.create(accountId, offramp)).rejects.toMatchObject({
    code: 'unsupported_flow',
    field: 'source.valueType',
  })
  expect(exchange.server.requests).toEqual([])
})

test('a list may be wrapped or bare', async () => {
  exchange.server.script(answer(200, { automations: [record('m')] }), answer(200, [record('m')]), answer(200, []))
  for (const ids of [['m'], ['m'], []]) {
    const { items, next } = await exchange.client.automations.list(accountId)
    expect(items.map((automation) => automation.id)).toEqual(ids)
    expect(next).toBeUndefined()
  }
  expect(exchange.server.requests[0]?.url).toBe(`/accounts/${accountId}/automations`)
})

test('all pages are read when the service paginates', async () => {
  exchange.server.script(
    answer(200, { automations: [record('m1')], pagination: { next: 'two' } }),
    answer(200, { automations: [record('m2')], pagination: { next: null } }),
  )
  const ids = []
  for await (const automation of exchange.client.automations.iterate(accountId)) ids.push(automation.id)
  expect(ids).toEqual(['m1', 'm2'])
})

test('a missing automation is undefined', async () => {
  exchange.server.script(answer(404, { code: 'not_found' }))
  expect(await exchange.client.automations.get(accountId, 'm')).toBeUndefined()
})

test('an automation is disabled and archived by its status', async () => {
  exchange.server.script(
    answer(200, { ...record('m'), status: 'disabled' }),
    answer(204),
    answer(409, { code: 'conflict' }),
  )
  expect(await exchange.client.automations.update(accountId, 'm', { status: 'disabled' })).toMatchObject({
    status: 'disabled',
  })
  expect(await exchange.client.automations.update(accountId, 'm', { status: 'archived' })).toBeUndefined()
  const refused = exchange.client.automations.update(accountId, 'm', { status: 'archived' })
  await expect(refused).rejects.toSatisfy((error) => OutlayError.is(error, 'conflict'))
  expect(exchange.server.requests[0]).toMatchObject({ method: 'PATCH', body: '{"status":"disabled"}' })
})

test('an automation gets another destination by the id of an address', async () => {
  exchange.server.script(answer(200, record('m')))
  await exchange.client.automations.update(accountId, 'm', { addressId: 'a2' })
  expect(exchange.server.requests[0]).toMatchObject({ method: 'PATCH', body: '{"address_id":"a2"}' })
})
