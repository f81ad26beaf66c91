import { expect, test } from 'vitest'
import { scriptedExchange } from '../../test/scripted-exchange.ts'
import { answer } from '../../test/scripted-server.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const exchange = scriptedExchange()

const record = { id: 'w', url: 'https://example.com/hook', event_types: ['transfer.*'], status: 'active' }

test('a registration returns the secret, which no later answer shows', async () => {
  exchange.server.script(answer(201, { ...record, secret: 'whsec_c2VjcmV0' }), answer(200, record))
  const request = { url: 'https://example.com/hook', eventTypes: ['transfer.*'] }
  const created = await exchange.client.webhooks.create(accountId, request, { idempotencyKey: 'hook-1' })
  expect(created).toMatchObject({ id: 'w', secret: 'whsec_c2VjcmV0', subscription: { eventTypes: ['transfer.*'] } })
  expect(await exchange.client.webhooks.get(accountId, 'w')).toMatchObject({ id: 'w', status: 'active' })
  expect(exchange.server.requests[0]?.headers['idempotency-key']).toBe('hook-1')
  expect(JSON.parse(exchange.server.requests[0]?.body ?? '')).toEqual({
    url: 'https://example.com/hook',
    event_types: ['transfer.*'],
  })
})

test('a rotation returns the new secret and until when the old one signs, under one key', async () => {
  const rotated = { ...record, secret: 'whsec_bmV3', previous_secret_until: '2026-01-02T00:00:00.000Z' }
  exchange.server.script(answer(503), answer(201, rotated))
  expect(await exchange.client.webhooks.rotate(accountId, 'w', { idempotencyKey: 'rotate-1' })).toMatchObject({
    id: 'w',
    idempotencyKey: 'rotate-1',
    secret: 'whsec_bmV3',
    previousSecretUntil: '2026-01-02T00:00:00.000Z',
    subscription: { status: 'active' },
  })
  expect(exchange.server.requests.map(({ method, url, headers }) => [method, url, headers['idempotency-key']])).toEqual(
    Array(2).fill(['POST', `/accounts/${accountId}/webhooks/subscriptions/w/rotate`, 'rotate-1']),
  )
})

test('an invalid URL is refused before anything is sent', async () => {
  for (const url of ['example.com/hook', 'ftp://example.com/hook', '']) {
    const field = { code: 'invalid_request', field: 'url' }
    await expect(exchange.client.webhooks.create(accountId, { url })).rejects.toMatchObject(field)
    await expect(exchange.client.webhooks.update(accountId, 'w', { url })).rejects.toMatchObject(field)
  }
  expect(exchange.server.requests).toEqual([])
})

test('a change sends what changes and nothing else', async () => {
  exchange.server.script(answer(200, { ...record, status: 'disabled' }))
  expect(await exchange.client.webhooks.update(accountId, 'w', { status: 'disabled' })).toMatchObject({
    status: 'disabled',
  })
  expect(exchange.server.requests[0]).toMatchObject({
    method: 'PATCH',
    url: `/accounts/${accountId}/webhooks/subscriptions/w`,
    body: '{"status":"disabled"}',
  })
})

test('a repeated removal finds nothing and succeeds', async () => {
  exchange.server.script(answer(503), answer(404, { code: 'not_found' }))
  await exchange.client.webhooks.remove(accountId, 'w')
  expect(exchange.server.requests.map(({ method }) => method)).toEqual(['DELETE', 'DELETE'])
})

test('subscriptions may be wrapped or bare, and a missing one is undefined', async () => {
  exchange.server.script(answer(200, { webhooks: [record] }), answer(200, [record]), answer(404, { code: 'not_found' }))
  for (const _ of [1, 2]) expect((await exchange.client.webhooks.list(accountId)).map(({ id }) => id)).toEqual(['w'])
  expect(await exchange.client.webhooks.get(accountId, 'w')).toBeUndefined()
})

test('the log of deliveries is read page by page with its filters', async () => {
  const delivery = { event_id: 'e', status: 'failed', attempts: 3, last_status: 500 }
  exchange.server.script(
    answer(200, { deliveries: [{ id: '2', ...delivery }], pagination: { next: 'two' } }),
    answer(200, { deliveries: [{ id: '1', ...delivery }], pagination: {} }),
  )
  const ids = []
  for await (const { id } of exchange.client.webhooks.iterateDeliveries(accountId, { status: 'failed', eventId: 'e' }))
    ids.push(id)
  expect(ids).toEqual(['2', '1'])
  const queries = exchange.server.requests.map(({ url }) =>
    Object.fromEntries(new URL(url, exchange.server.url).searchParams),
  )
  expect(queries).toEqual([
    { event_id: 'e', status: 'failed' },
    { event_id: 'e', status: 'failed', 'page[after]': 'two' },
  ])
})

test('an event is sent again without a body or a key', async () => {
  exchange.server.script(answer(202, { event_id: 'e', deliveries: 1 }))
  expect(await exchange.client.webhooks.resend(accountId, 'e')).toBe(1)
  expect(exchange.server.requests[0]).toMatchObject({ method: 'POST', body: '' })
  expect(exchange.server.requests[0]?.headers['idempotency-key']).toBeUndefined()
})
