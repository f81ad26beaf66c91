import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { WebhookEventType } from '@outlay/core'
import { manualClock } from '@outlay/testing'
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { startReceiver } from '../../test/receiver.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { setAccountStatus } from '../accounts/accounts.ts'
import { inTransaction } from '../context.ts'
import { deliverySchedule } from './delivery-attempt.ts'
import { startWebhookDelivery, type WebhookDeliveryOptions } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import type { DeliveryResource, WebhookResource } from './view.ts'

const { pool } = await serviceDatabase()

/** How each path answers. Default 204. */
const answers = new Map<string, (response: ServerResponse) => void>()
const { base, at } = await startReceiver((response, { path }) => {
  const answer = answers.get(path.replace(/\/\d+$/, ''))
  if (answer === undefined) response.writeHead(204).end()
  else answer(response)
})

const context = testContext({ pool, allowPrivateWebhooks: true })
const service = testService(context)
const { token } = await service.signIn()
/** The outside world's clock. */
const clock = manualClock(new Date().toISOString())

// All tests use one host; what fails in one of them is not to hold the others.
afterEach(() => inspect(pool).query(`truncate ${testSchema}.webhook_endpoint`))

async function delivering<T>(
  work: (drain: () => Promise<void>) => Promise<T>,
  options: WebhookDeliveryOptions = {},
): Promise<T> {
  const delivery = startWebhookDelivery(context, { clock, timeoutMs: 30_000, ...options })
  try {
    return await work(() => delivery.drain())
  } finally {
    await delivery.stop()
  }
}

let keys = 0
async function subscribe(path: string, eventTypes?: readonly string[], by = token) {
  const accountId = await service.createAccount(by)
  keys += 1
  const { json } = await service.call<WebhookResource & { secret: string }>(`/accounts/${accountId}/webhooks`, {
    method: 'POST',
    token: by,
    key: `webhook-${keys}`,
    body: { url: base + path, ...(eventTypes === undefined ? {} : { event_types: eventTypes }) },
  })
  const subscription = `/accounts/${accountId}/webhooks/subscriptions/${json.id}`
  const read = async () => (await service.call<WebhookResource>(subscription, { token: by })).json
  const deliveries = async (query = '') =>
    (
      await service.call<{ deliveries: DeliveryResource[] }>(`/accounts/${accountId}/webhooks/deliveries${query}`, {
        token: by,
      })
    ).json.deliveries
  const record = (type: WebhookEventType, data: unknown = { id: '1' }) =>
    inTransaction(context, (tx) => recordEvent(tx, context, { accountId, type, data }))
  return { accountId, webhook: json, subscription, read, deliveries, record }
}

it('shows the secret once and signs every delivery twice', async () => {
  const { webhook, read, record, deliveries, accountId } = await subscribe('/signed')
  expect(webhook.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(await read()).not.toHaveProperty('secret')
  await record('transfer.completed', { id: 'T', note: 'Zoë' })
  await delivering((drain) => drain())
  const [one] = at('/signed')
  const headers = { ...(one?.headers as Record<string, string>) }
  const event = new Webhook(webhook.secret).verify(one?.body ?? '', headers) as Record<string, unknown>
  expect(event).toMatchObject({ id: headers['webhook-id'], type: 'transfer.completed', data: { id: 'T', note: 'Zoë' } })
  expect(Object.keys(event)).toEqual(['id', 'type', 'created', 'data'])
  expect(headers['x-request-signature-sha-256']).toBe(
    createHmac('sha256', Buffer.from(webhook.secret.slice('whsec_'.length), 'base64'))
      .update(one?.body ?? '')
      .digest('hex'),
  )
  expect(await deliveries()).toMatchObject([
    { status: 'delivered', attempts: 1, last_status: 204, next_attempt_at: null },
  ])
  const { rows } = await inspect(pool).query(
    `select json_agg(r)::text as text from ${testSchema}.webhook_registration r where account_id = $1`,
    [accountId],
  )
  expect(rows[0].text).not.toContain(webhook.secret)
  const { rows: stored } = await inspect(pool).query(
    `select json_agg(k)::text as text from ${testSchema}.idempotency_key k`,
  )
  expect(stored[0].text).not.toContain(webhook.secret)
})

it('is registered for the events of either spelling', async () => {
  const path = `/accounts/${await service.createAccount(token)}/webhooks`
  const body = { url: `${base}/camel`, eventTypes: ['transfer.failed'] }
  const { status, json } = await service.call(path, { method: 'POST', token, key: 'camel-webhook', body })
  expect([status, json['event_types']]).toEqual([201, ['transfer.failed']])
})

it('replays the registration with the same secret', async () => {
  const accountId = await service.createAccount(token)
  const call = { method: 'POST', token, key: 'replayed-webhook', body: { url: `${base}/replayed` } }
  const first = await service.call(`/accounts/${accountId}/webhooks`, call)
  const second = await service.call(`/accounts/${accountId}/webhooks`, call)
  expect(first.status).toBe(201)
  expect(second.text).toBe(first.text)
})

it('delivers only the subscribed types, and writes nothing without a subscription', async () => {
  const { record, deliveries, accountId } = await subscribe('/some', ['transfer.*', 'account.updated'])
  for (const type of ['transfer.created', 'automation.active', 'transfer.failed'] as const) await record(type)
  await inTransaction(context, (tx) => setAccountStatus(tx, context, accountId, 'rejected'))
  await delivering((drain) => drain())
  expect((await deliveries()).map((one) => one.event_type)).toEqual([
    'account.updated',
    'transfer.failed',
    'transfer.created',
  ])
  expect(at('/some')).toHaveLength(3)
  const { rows } = await inspect(pool).query(`select type from ${testSchema}.webhook_event where account_id = $1`, [
    accountId,
  ])
  expect(rows.map((row) => row.type)).not.toContain('automation.active')
})

it('delivers nothing when the transaction rolls back', async () => {
  const { accountId, deliveries } = await subscribe('/rolled-back')
  await inTransaction(context, async (tx) => {
    await recordEvent(tx, context, { accountId, type: 'transfer.created', data: {} })
    throw new Error('no')
  }).catch(() => undefined)
  expect(await deliveries()).toEqual([])
})

it('retries on the schedule with the same id and body, then gives up', async () => {
  const { record, deliveries } = await subscribe('/broken')
  answers.set('/broken', (response) => response.writeHead(500).end())
  await record('transfer.created')
  await delivering(async (drain) => {
    await drain()
    for (const [attempt, pauseMs] of deliverySchedule.entries()) {
      if (attempt === 0) continue
      clock.advance(pauseMs - 1)
      await drain()
      expect(at('/broken')).toHaveLength(attempt)
      clock.advance(pauseMs / 10 + 1)
      await drain()
      expect(at('/broken')).toHaveLength(attempt + 1)
    }
  })
  expect(await deliveries()).toMatchObject([{ status: 'failed', attempts: deliverySchedule.length, last_status: 500 }])
  expect(new Set(at('/broken').map((one) => one.headers['webhook-id'] + one.body)).size).toBe(1)
})

it('waits as long as Retry-After asks', async () => {
  const { record, deliveries } = await subscribe('/busy')
  answers.set('/busy', (response) => response.writeHead(503, { 'retry-after': '3600' }).end())
  await record('transfer.created')
  await delivering((drain) => drain())
  const [delivery] = await deliveries()
  expect(Date.parse(delivery?.next_attempt_at ?? '') - clock.now().getTime()).toBe(3_600_000)
})

it('disables a webhook whose endpoint is gone, and cancels its pending deliveries', async () => {
  const { record, read, deliveries } = await subscribe('/gone')
  answers.set('/gone', (response) => response.writeHead(410).end())
  await record('transfer.created')
  await delivering((drain) => drain())
  expect(await read()).toMatchObject({ status: 'disabled', disabled_reason: 'The endpoint answered 410.' })
  await record('transfer.processing')
  await delivering((drain) => drain())
  expect(at('/gone')).toHaveLength(1)
  expect(await deliveries()).toMatchObject([{ status: 'failed', last_status: 410 }])
})

it('treats a redirect, a hanging endpoint and a closed port as failures', async () => {
  answers.set('/redirect', (response) => response.writeHead(302, { location: `${base}/redirected` }).end())
  answers.set('/hanging', () => undefined)
  const redirect = await subscribe('/redirect')
  await redirect.record('transfer.created')
  await delivering((drain) => drain())
  const hanging = await subscribe('/hanging')
  await hanging.record('transfer.created')
  await delivering((drain) => drain(), { timeoutMs: 500 })
  expect(at('/redirected')).toEqual([])
  expect(await redirect.deliveries()).toMatchObject([{ status: 'pending', last_status: 302 }])
  const [timedOut] = await hanging.deliveries()
  expect(timedOut).toMatchObject({ status: 'pending', last_status: null })
  expect(timedOut?.last_error).toBeTruthy()
})

it('sends nothing to a private address, not even to one that was registered while that was allowed', async () => {
  const { record, deliveries } = await subscribe('/inside')
  await record('transfer.created')
  const strict = testContext({ pool, clock: context.clock, secrets: context.secrets })
  const delivery = startWebhookDelivery(strict, { clock, timeoutMs: 30_000 })
  await delivery.drain()
  await delivery.stop()
  expect(at('/inside')).toEqual([])
  expect(await deliveries()).toMatchObject([
    { status: 'pending', last_status: null, last_error: 'PrivateAddressError', attempts: 1 },
  ])
})

it('discards the body of an answer, however long', async () => {
  const { record, deliveries } = await subscribe('/long')
  answers.set('/long', (response) => {
    response.writeHead(200)
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      if (!response.destroyed) response.once('drain', write)
    }
    write()
  })
  await record('transfer.created')
  await delivering((drain) => drain())
  expect(await deliveries()).toMatchObject([{ status: 'delivered', last_status: 200 }])
})

it('refuses private addresses when the switch is off, at registration and at connect time', async () => {
  const { record, deliveries, accountId } = await subscribe('/private')
  const strict = testService(
    Object.assign(Object.defineProperties({}, Object.getOwnPropertyDescriptors(context)), {
      allowPrivateWebhooks: false,
    }) as typeof context,
  )
  for (const url of [`${base}/x`, 'https://127.0.0.1/x', 'https://2130706433/x', 'https://[::ffff:10.0.0.1]/x']) {
    const { status, json } = await strict.call(`/accounts/${accountId}/webhooks`, {
      method: 'POST',
      token,
      key: url.replace(/[^a-z0-9]/g, '-'),
      body: { url },
    })
    expect([url, status, json['code']]).toEqual([url, 422, 'invalid_request'])
  }
  await record('transfer.created')
  const delivery = startWebhookDelivery(strict.context, { clock })
  await delivery.drain()
  await delivery.stop()
  expect(at('/private')).toEqual([])
  expect(await deliveries()).toMatchObject([{ status: 'pending', last_error: 'PrivateAddressError' }])
})

it('delivers each of a thousand events once with two processes at work', async () => {
  const { accountId, deliveries } = await subscribe('/many')
  await inTransaction(context, async (tx) => {
    for (let count = 0; count < 1_000; count += 1)
      await recordEvent(tx, context, { accountId, type: 'transfer.completed', data: { count } })
  })
  const other = startWebhookDelivery(context, { clock })
  await delivering((drain) => drain())
  await other.drain()
  await other.stop()
  expect(new Set(at('/many').map((one) => one.headers['webhook-id'])).size).toBe(1_000)
  expect(at('/many')).toHaveLength(1_000)
  expect(await deliveries('?status=pending')).toEqual([])
})

it('delivers to a healthy endpoint while another one hangs', async () => {
  const held: ServerResponse[] = []
  answers.set('/stuck', (response) => held.push(response))
  const stuck = await subscribe('/stuck')
  const healthy = await subscribe('/healthy')
  await inTransaction(context, async (tx) => {
    for (let count = 0; count < 200; count += 1)
      await recordEvent(tx, context, { accountId: stuck.accountId, type: 'transfer.created', data: { count } })
    await recordEvent(tx, context, { accountId: healthy.accountId, type: 'transfer.created', data: {} })
  })
  await delivering(
    async (drain) => {
      const drained = drain()
      await expect.poll(() => at('/healthy').length).toBe(1)
      expect(held.length).toBeGreaterThan(0)
      answers.delete('/stuck')
      for (const response of held) response.writeHead(204).end()
      await drained
    },
    { timeoutMs: 100_000 },
  )
  expect(await stuck.deliveries('?status=pending')).toEqual([])
})

it('lets one client through while many endpoints of another one hang', async () => {
  const held: ServerResponse[] = []
  answers.set('/swamp', (response) => held.push(response))
  const swamp = await subscribe('/swamp')
  for (let count = 0; count < 9; count += 1) {
    await service.call(`/accounts/${swamp.accountId}/webhooks`, {
      method: 'POST',
      token,
      key: `swamp-${count}`,
      body: { url: `${base}/swamp/${count}` },
    })
  }
  const { token: other } = await service.signIn()
  const healthy = await subscribe('/neighbour', undefined, other)
  await inTransaction(context, async (tx) => {
    for (let count = 0; count < 60; count += 1)
      await recordEvent(tx, context, { accountId: swamp.accountId, type: 'transfer.created', data: { count } })
  })
  await delivering(
    async (drain) => {
      await expect.poll(() => held.length).toBeGreaterThanOrEqual(64)
      await healthy.record('transfer.created')
      await expect.poll(() => at('/neighbour').length).toBe(1)
      answers.delete('/swamp')
      for (const response of held) response.writeHead(204).end()
      await drain()
    },
    { timeoutMs: 100_000 },
  )
  expect(await swamp.deliveries('?status=pending')).toEqual([])
}, 120_000)

it('lets others through while endpoints of many clients hang', async () => {
  const held: ServerResponse[] = []
  answers.set('/crowd', (response) => held.push(response))
  for (let count = 0; count < 3; count += 1) {
    const { token: theirs } = await service.signIn()
    const one = await subscribe('/crowd', undefined, theirs)
    await one.record('transfer.created')
    await one.record('transfer.completed')
  }
  await delivering(
    async (drain) => {
      await expect.poll(() => held.length).toBeGreaterThanOrEqual(4)
      const healthy = await subscribe('/outsider')
      await healthy.record('transfer.created')
      await expect.poll(() => at('/outsider').length).toBe(1)
      answers.delete('/crowd')
      for (const response of held) response.writeHead(204).end()
      await drain()
    },
    { timeoutMs: 100_000, concurrency: 4 },
  )
}, 120_000)

it('sends an event again on demand', async () => {
  const { accountId, record, deliveries } = await subscribe('/again')
  await record('transfer.created')
  await delivering((drain) => drain())
  const [first] = await deliveries()
  const path = `/accounts/${accountId}/webhooks/events/${first?.event_id}/resend`
  const answer = await service.call(path, { method: 'POST', token })
  expect([answer.status, answer.json['deliveries']]).toEqual([202, 1])
  for (let time = 0; time < 3; time += 1) {
    const repeated = await service.call(path, { method: 'POST', token })
    expect([repeated.status, repeated.json['deliveries']]).toEqual([202, 0])
  }
  await delivering((drain) => drain())
  expect(new Set(at('/again').map((one) => one.headers['webhook-id'])).size).toBe(1)
  expect(at('/again')).toHaveLength(2)
  const unknown = await service.call(path.replace(first?.event_id ?? '', '01ARZ3NDEKTSV4RRFFQ69G5FAV'), {
    method: 'POST',
    token,
  })
  expect(unknown.status).toBe(404)
})

it('changes, disables, lists and removes a webhook', async () => {
  const { accountId, subscription, webhook, record } = await subscribe('/managed')
  const patch = (body: unknown) => service.call(subscription, { method: 'PATCH', token, body })
  expect((await patch({ event_types: ['transfer.failed'] })).json['event_types']).toEqual(['transfer.failed'])
  expect((await patch({ eventTypes: ['transfer.canceled'] })).json['event_types']).toEqual(['transfer.canceled'])
  const refused = await patch({ eventTypes: ['nonsense'] })
  expect([refused.status, refused.json['errors']]).toMatchObject([422, [{ source: { pointer: '/eventTypes/0' } }]])
  expect((await patch({ status: 'disabled' })).json['status']).toBe('disabled')
  await record('transfer.failed')
  const { json } = await service.call<{ webhooks: WebhookResource[] }>(`/accounts/${accountId}/webhooks`, { token })
  expect(json.webhooks.map((one) => one.id)).toEqual([webhook.id])
  expect(JSON.stringify(json)).not.toContain('whsec_')
  expect((await service.call(subscription, { method: 'DELETE', token })).status).toBe(204)
  expect((await service.call(subscription, { method: 'DELETE', token })).status).toBe(404)
  await delivering((drain) => drain())
  expect(at('/managed')).toEqual([])
})
