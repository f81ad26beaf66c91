import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { manualClock } from '@outlay/testing'
import { beforeEach, expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { startReceiver } from '../../test/receiver.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { deliverySchedule } from './delivery-attempt.ts'
import { startWebhookDelivery, type WebhookDeliveryOptions } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import { webhookSecretPlace } from './registrations.ts'

const { pool } = await serviceDatabase()
const answers = new Map<string, (response: ServerResponse, path: string) => void>()
const answer = (response: ServerResponse, path: string) => {
  const known = answers.get(path.replace(/\?.*/, ''))
  if (known === undefined) response.writeHead(204).end()
  else known(response, path)
}
const host = await startReceiver((response, { path }) => answer(response, path))
const neighbour = await startReceiver((response, { path }) => answer(response, path))
const fail = (response: ServerResponse) => response.writeHead(500).end()

const context = testContext({ pool, allowPrivateWebhooks: true })
const service = testService(context)
const { token } = await service.signIn()
const clock = manualClock(new Date().toISOString())
const query = inspect(pool).query

beforeEach(async () => {
  answers.clear()
  await query(
    `truncate ${testSchema}.webhook_registration, ${testSchema}.webhook_event, ${testSchema}.webhook_endpoint cascade`,
  )
})

let made = 0
/** Makes webhooks as an earlier release or many accounts have left them. Returns the account. */
async function seed(urls: readonly string[], of = token): Promise<string> {
  const accountId = await service.createAccount(of)
  for (const url of urls) {
    made += 1
    const id = `W${String(made).padStart(25, '0')}`
    const secret = context.secrets.seal('whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxl', webhookSecretPlace(id))
    await query(
      `insert into ${testSchema}.webhook_registration
         (id, account_id, url, event_types, status, secret, created_at, updated_at)
       values ($1, $2, $3, '{*}', 'active', $4, now(), now())`,
      [id, accountId, url, secret],
    )
  }
  return accountId
}

const record = (accountId: string) =>
  inTransaction(context, (tx) => recordEvent(tx, context, { accountId, type: 'transfer.created', data: {} }))
const many = (count: number, url: (n: number) => string) => Array.from({ length: count }, (_, n) => url(n))
const seconds = 1_000
const statuses = async (accountId: string) => {
  const sql = `select status, count(*)::int as count from ${testSchema}.webhook_delivery where account_id = $1 group by status`
  return Object.fromEntries((await query(sql, [accountId])).rows.map(({ status, count }) => [status, count]))
}

/** Lets the time pass until an endpoint is no longer held. */
async function passHold(): Promise<void> {
  const { rows } = await query(`select max(held_until) as until from ${testSchema}.webhook_endpoint`)
  clock.advance(Math.max(0, rows[0].until.getTime() - clock.now().getTime()))
}

async function delivering<T>(
  work: (drain: () => Promise<void>) => Promise<T>,
  options: WebhookDeliveryOptions = {},
): Promise<T> {
  const delivery = startWebhookDelivery(context, { clock, timeoutMs: 5_000, ...options })
  try {
    return await work(() => delivery.drain())
  } finally {
    await delivery.stop()
  }
}

it.each([
  ['one URL', '/one', (n: number) => `${host.base}/one?n=${n}`],
  ['one host', '/', (n: number) => `${host.base}/paths/${n}`],
])(
  '500 webhooks that fail on %s share its budget',
  async (_, path, url) => {
    const accountId = await seed(many(500, url))
    answers.set(path, fail)
    for (const one of many(500, url)) answers.set(new URL(one).pathname, fail)
    const before = host.received.length
    await record(accountId)
    await delivering(async (drain) => {
      await drain()
      for (const pauseMs of deliverySchedule.slice(1, 6)) {
        clock.advance(pauseMs * 1.1 + 1)
        await drain()
      }
    })
    const sent = host.received.length - before
    expect(sent).toBeLessThan(300)
    expect(await statuses(accountId)).toEqual({ pending: 500 })
  },
  120_000,
)

it('an endpoint that is held delays no other one, however much waits for it', async () => {
  const failing = await seed(many(50, (n) => `${host.base}/down?n=${n}`))
  const healthy = await seed([`${neighbour.base}/healthy`])
  answers.set('/down', fail)
  await delivering(async (drain) => {
    for (let count = 0; count < 2; count += 1) await record(failing)
    await drain()
    const before = neighbour.received.length
    for (let count = 0; count < 40; count += 1) await record(failing)
    clock.advance(6 * seconds)
    await record(healthy)
    const failed = host.received.length
    await expect.poll(() => neighbour.received.length, { timeout: 60_000, interval: 10 }).toBe(before + 1)
    // Of the 2,000 deliveries that are due before it, one probe of each endpoint at most.
    expect(host.received.length - failed).toBeLessThanOrEqual(50)
    await drain()
  })
  expect(await statuses(failing)).toEqual({ pending: 2_100 })
}, 60_000)

it('sends one probe when the time is over, and everything once it has succeeded', async () => {
  const accountId = await seed(many(100, (n) => `${host.base}/restarted?n=${n}`))
  answers.set('/restarted', fail)
  await record(accountId)
  await delivering(async (drain) => {
    await drain()
    for (let probe = 0; probe < 4; probe += 1) {
      const before = host.received.length
      const other = startWebhookDelivery(context, { clock, timeoutMs: 5_000 })
      // Where two claims leave the probe to each other, it is sent when its own time is over.
      await expect
        .poll(async () => {
          await passHold()
          await Promise.all([drain(), other.drain()])
          return host.received.length - before
        })
        .toBe(1)
      await other.stop()
    }
    answers.clear()
    await passHold()
    await drain()
    clock.advance(6 * seconds)
    await drain()
    clock.advance(deliverySchedule[2] ?? 0)
    await drain()
    clock.advance(deliverySchedule[3] ?? 0)
    await drain()
  })
  expect(await statuses(accountId)).toEqual({ delivered: 100 })
}, 60_000)

it('a few failures hold nothing, and neither do failures between successes', async () => {
  const accountId = await seed([`${host.base}/moody`])
  let count = 0
  answers.set('/moody', (response) => {
    count += 1
    response.writeHead(count % 2 === 1 ? 500 : 204).end()
  })
  await delivering(async (drain) => {
    for (let event = 0; event < 20; event += 1) {
      await record(accountId)
      await drain()
    }
  })
  expect(await statuses(accountId)).toEqual({ pending: 10, delivered: 10 })
})

it('a webhook that has worked is not held because other URLs of its host fail', async () => {
  const good = await seed([`${host.base}/good`])
  const bad = await seed(many(40, (n) => `${host.base}/bad/${n}`))
  const unknown = await seed([`${host.base}/unknown`])
  for (let n = 0; n < 40; n += 1) answers.set(`/bad/${n}`, fail)
  await delivering(async (drain) => {
    await record(good)
    await drain()
    for (let round = 0; round < 4; round += 1) {
      await record(bad)
      await drain()
    }
    await record(good)
    await record(unknown)
    await drain()
  })
  expect(host.at('/good')).toHaveLength(2)
  expect(host.at('/unknown')).toHaveLength(0)
  expect(await statuses(unknown)).toEqual({ pending: 1 })
})

it('what waits for an endpoint that never works ends when a delivery that was sent would', async () => {
  const accountId = await seed(many(20, (n) => `${host.base}/never?n=${n}`))
  answers.set('/never', fail)
  await record(accountId)
  await delivering(async (drain) => {
    for (let hour = 0; hour < 240; hour += 1) {
      await drain()
      clock.advance(3_600 * seconds)
      ;(context.clock as ReturnType<typeof manualClock>).advance(3_600 * seconds)
    }
    await drain()
  })
  expect(await statuses(accountId)).toEqual({ failed: 20 })
  expect(host.received.filter(({ path }) => path.startsWith('/never')).length).toBeLessThan(
    20 * deliverySchedule.length,
  )
}, 60_000)

it('the longest URL that may be registered fails like any other', async () => {
  const { token: fresh } = await service.signIn()
  const accountId = await service.createAccount(fresh)
  const path = `/${randomBytes(900).toString('hex').replaceAll(/[0-7]/g, 'é')}`
  const { status } = await service.call(`/accounts/${accountId}/webhooks`, {
    token: fresh,
    key: 'long',
    body: { url: host.base + path },
  })
  expect(status).toBe(201)
  answers.set(new URL(host.base + path).pathname, fail)
  await delivering(async (drain) => {
    for (let count = 0; count < 10; count += 1) await record(accountId)
    const readLongest = async () => {
      await drain()
      const sql = `select length(key) as length, failures from ${testSchema}.webhook_endpoint order by length(key) desc`
      return (await query(sql)).rows[0]
    }
    // What is slow on a busy machine is counted after the round that sent it.
    await expect.poll(async () => (await readLongest())?.failures).toBeGreaterThanOrEqual(8)
    expect((await readLongest())?.length).toBe(27 + 500)
  })
})

/** Answers what one side sends to a URL with an error, while it is down, and the rest of it with 204. */
const failFor = (path: string, isDown: (query: string) => boolean) =>
  answers.set(path, (response, sent) => void response.writeHead(isDown(sent) ? 401 : 204).end())
const sentBy = (side: string) => host.received.filter(({ path }) => path.endsWith(`?of=${side}`)).length

it('a client that names the URL of another one stops nothing there, and floods nobody', async () => {
  const { token: client } = await service.signIn()
  const { token: stranger } = await service.signIn()
  const victim = await seed([`${host.base}/theirs?of=victim`], client)
  const mallory = await seed(
    many(50, () => `${host.base}/theirs?of=mallory`),
    stranger,
  )
  let isOut = false
  failFor('/theirs', (path) => path.endsWith('=mallory') || isOut)
  await delivering(async (drain) => {
    await record(victim)
    await drain()
    for (let round = 0; round < 4; round += 1) await record(mallory)
    await drain()
    const tried = sentBy('mallory')
    // A claim was under way when the eighth failed.
    expect(tried).toBeLessThan(100)
    await record(victim)
    await drain()
    expect(await statuses(victim)).toEqual({ delivered: 2 })

    // After an outage of its own, its own probe is what it waits for.
    isOut = true
    for (let round = 0; round < 9; round += 1) {
      await record(victim)
      await drain()
    }
    isOut = false
    clock.advance(11 * seconds)
    await drain()
    clock.advance((deliverySchedule[2] ?? 0) * 1.2)
    await drain()
    expect(await statuses(victim)).toEqual({ delivered: 11 })
    // What succeeds for the victim gives the other one no further attempts: one probe in each hold.
    expect(sentBy('mallory') - tried).toBeLessThan(10)
  })
  expect(await statuses(mallory)).toEqual({ pending: 200 })
}, 60_000)

it('a client that is new on a host where others fail is sent its first delivery, and waits for its own failures', async () => {
  const { token: stranger } = await service.signIn()
  const { token: newcomer } = await service.signIn()
  const mallory = await seed(
    many(60, (n) => `${host.base}/dead/${n}?of=mallory`),
    stranger,
  )
  for (let n = 0; n < 60; n += 1) answers.set(`/dead/${n}`, fail)
  let isDeploying = true
  failFor('/new', () => isDeploying)
  await delivering(async (drain) => {
    await record(mallory)
    await drain()
    const fresh = await seed([`${host.base}/new?of=newcomer`], newcomer)
    await record(fresh)
    await drain()
    expect(sentBy('newcomer')).toBe(1)
    // One failure is enough where so many have failed.
    await record(fresh)
    await drain()
    expect(sentBy('newcomer')).toBe(1)
    isDeploying = false
    clock.advance(6 * seconds)
    await drain()
    clock.advance(6 * seconds)
    await drain()
    expect(await statuses(fresh)).toEqual({ delivered: 2 })
  })
}, 60_000)
