import { createHmac } from 'node:crypto'
import { manualClock } from '@outlay/testing'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { type Received, startReceiver } from '../../test/receiver.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { keepHouse } from '../housekeeping.ts'
import { startWebhookDelivery } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import { type RotatedWebhook, secretOverlapMs } from './secret-rotation.ts'
import type { WebhookResource } from './view.ts'

const { pool } = await serviceDatabase()

/** How many times a path answers 503 before it answers 204. */
const busy = new Map<string, number>()
/** The secret that a path goes by; it answers 401 to what that did not sign. */
const trusted = new Map<string, string>()
const { base, received } = await startReceiver((response, one) => {
  const { path } = one
  const trust = trusted.get(path)
  if (trust !== undefined && !verifies(trust, one)) {
    response.writeHead(401).end()
    return
  }
  const left = busy.get(path) ?? 0
  busy.set(path, left - 1)
  response.writeHead(left > 0 ? 503 : 204).end()
})

const serviceClock = manualClock()
const context = testContext({ pool, clock: serviceClock, allowPrivateWebhooks: true })
const service = testService(context)
const signIn = async () => (await service.signIn()).token
let token = await signIn()
/** The outside world's clock, which the library under test goes by as well. */
const clock = manualClock(new Date().toISOString())

let keys = 0
const post = <Body extends object>(path: string, body?: unknown, key?: string) => {
  keys += 1
  return service.call<Body>(path, {
    method: 'POST',
    token,
    key: key ?? `rotation-${keys}`,
    ...(body === undefined ? {} : { body }),
  })
}

async function subscribe(path: string) {
  const accountId = await service.createAccount(token)
  const { json } = await post<WebhookResource & { secret: string }>(`/accounts/${accountId}/webhooks`, {
    url: base + path,
  })
  const subscription = `/accounts/${accountId}/webhooks/subscriptions/${json.id}`
  const record = () =>
    inTransaction(context, (tx) =>
      recordEvent(tx, context, { accountId, type: 'transfer.completed', data: { id: 'T' } }),
    )
  const rotate = (key?: string) => post<RotatedWebhook>(`${subscription}/rotate`, undefined, key)
  return { accountId, webhook: json, subscription, record, rotate }
}

const withDelivery = async (work: (drain: () => Promise<void>) => Promise<void>): Promise<void> => {
  const delivery = startWebhookDelivery(context, { clock, timeoutMs: 30_000 })
  try {
    await work(() => delivery.drain())
  } finally {
    await delivery.stop()
  }
}

/** The newest request to a path. */
const lastAt = (path: string): Received => {
  const one = received.findLast((request) => request.path === path)
  if (one === undefined) throw new Error(`Nothing came to ${path}.`)
  return one
}
const verifies = (secret: string, { headers, body }: Received): boolean => {
  try {
    new Webhook(secret).verify(body, { ...(headers as Record<string, string>) })
    return true
  } catch {
    return false
  }
}

it('the new secret is shown once and kept sealed, and a replay shows the same', async () => {
  const { webhook, subscription, rotate, accountId } = await subscribe('/once')
  const rotated = await rotate('rotate-once')
  expect(rotated.status).toBe(201)
  expect(rotated.json.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(rotated.json.secret).not.toBe(webhook.secret)
  const until = new Date(serviceClock.now().getTime() + secretOverlapMs).toISOString()
  expect(rotated.json).toMatchObject({ id: webhook.id, status: 'active', previous_secret_until: until })
  expect((await rotate('rotate-once')).text).toBe(rotated.text)
  const { json } = await service.call(subscription, { token })
  expect(Object.keys(json).filter((name) => name.includes('secret'))).toEqual([])
  const { rows } = await inspect(pool).query(
    `select (select json_agg(r)::text from ${testSchema}.webhook_registration r where account_id = $1)
         || (select json_agg(k)::text from ${testSchema}.idempotency_key k) as text`,
    [accountId],
  )
  expect(rows[0].text).not.toContain(rotated.json.secret)
  expect(rows[0].text).not.toContain(webhook.secret)
})

it('for a day both secrets sign, then only the new one', async () => {
  const { webhook, record, rotate } = await subscribe('/both')
  await withDelivery(async (drain) => {
    const { json } = await rotate()
    await record()
    await drain()
    const both = lastAt('/both')
    expect(both.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
    expect([verifies(webhook.secret, both), verifies(json.secret, both)]).toEqual([true, true])
    const digest = createHmac('sha256', Buffer.from(json.secret.slice('whsec_'.length), 'base64'))
      .update(both.body)
      .digest('hex')
    expect(both.headers['x-request-signature-sha-256']).toBe(digest)

    serviceClock.advance(secretOverlapMs - 1)
    await record()
    await drain()
    expect(verifies(webhook.secret, lastAt('/both'))).toBe(true)

    serviceClock.advance(1)
    await record()
    await drain()
    const alone = lastAt('/both')
    expect(alone.headers['webhook-signature']).toMatch(/^v1,\S+$/)
    expect([verifies(webhook.secret, alone), verifies(json.secret, alone)]).toEqual([false, true])
  })
  token = await signIn()
})

it('a delivery that failed before the rotation is retried with both secrets', async () => {
  const { webhook, record, rotate } = await subscribe('/busy')
  busy.set('/busy', 1)
  await withDelivery(async (drain) => {
    await record()
    await drain()
    expect(verifies(webhook.secret, lastAt('/busy'))).toBe(true)
    const { json } = await rotate()
    clock.advance(10_000)
    await drain()
    const again = lastAt('/busy')
    expect(received.filter(({ path }) => path === '/busy')).toHaveLength(2)
    expect([verifies(webhook.secret, again), verifies(json.secret, again)]).toEqual([true, true])
  })
})

it('a receiver that uses the old secret for hours, then the new one, refuses no delivery', async () => {
  const { webhook, record, rotate } = await subscribe('/steady')
  trusted.set('/steady', webhook.secret)
  await withDelivery(async (drain) => {
    const records = (count: number) => Promise.all(Array.from({ length: count }, record))
    const [{ json }] = await Promise.all([rotate(), records(20)])
    await records(5)
    await drain()
    serviceClock.advance(secretOverlapMs - 1)
    await records(5)
    await drain()
    trusted.set('/steady', json.secret)
    await records(5)
    await drain()
    serviceClock.advance(1)
    await records(5)
    await drain()
  })
  token = await signIn()
  const { rows } = await inspect(pool).query(
    `select status || ' ' || attempts as outcome from ${testSchema}.webhook_delivery where registration_id = $1`,
    [webhook.id],
  )
  expect(rows.map(({ outcome }) => outcome)).toEqual(Array(40).fill('delivered 1'))
})

it('a second rotation ends the oldest secret at once, and never more than two sign', async () => {
  const { webhook, record, rotate } = await subscribe('/twice')
  const [second, third] = [await rotate(), await rotate()]
  await withDelivery(async (drain) => {
    await record()
    await drain()
  })
  const one = lastAt('/twice')
  const all = [webhook.secret, second.json.secret, third.json.secret]
  expect(all.map((secret) => verifies(secret, one))).toEqual([false, true, true])
})

it('the housekeeping deletes only expired secrets', async () => {
  const { webhook, rotate } = await subscribe('/forgotten')
  await rotate()
  const stored = async () => {
    const { rows } = await inspect(pool).query(
      `select previous_secret is not null as kept from ${testSchema}.webhook_registration where id = $1`,
      [webhook.id],
    )
    return rows[0].kept
  }
  await keepHouse(context)
  expect(await stored()).toBe(true)
  serviceClock.advance(secretOverlapMs)
  await keepHouse(context)
  expect(await stored()).toBe(false)
  token = await signIn()
})

it('needs a key, the scope and a webhook of the account', async () => {
  const { subscription, accountId } = await subscribe('/refused')
  expect((await service.call(`${subscription}/rotate`, { method: 'POST', token })).status).toBe(400)
  const reader = await service.signIn({ scopes: ['webhooks:read'] })
  const refused = await service.call(`${subscription}/rotate`, { method: 'POST', token: reader.token, key: 'scope' })
  expect([403, 404]).toContain(refused.status)
  const unknown = `/accounts/${accountId}/webhooks/subscriptions/01KA0000000000000000000000/rotate`
  expect((await post(unknown)).status).toBe(404)
})
