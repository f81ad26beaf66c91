import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { manualClock, silentLogger } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { migrateService } from '../database/migrations.ts'
import type { DeliveryResource } from './delivery-store.ts'
import { startWebhookDelivery } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import { disableWebhook, removeWebhook, type WebhookResource } from './registrations.ts'

const database = await testDatabase({
  role: 'ordinary',
  key: 'service-http',
  prepare: async (url) => {
    const pool = new Pool({ connectionString: url })
    await migrateService({ pool, schema: testSchema })
    await pool.end()
  },
})
const pool = new Pool({ connectionString: database.url, max: 8 })
afterAll(() => pool.end())

const held: ServerResponse[] = []
const receiver = createServer((request, response) => {
  request.resume()
  held.push(response)
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
afterAll(() => receiver.close())
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`

const context = testContext({ pool, clock: manualClock(), logger: silentLogger, allowPrivateWebhooks: true })
const service = testService(context)
const { token } = await service.signIn()

/** Registers a webhook of a new account and records an event for it. */
async function notify() {
  const accountId = await service.createAccount(token)
  const path = `/accounts/${accountId}/webhooks`
  const call = { method: 'POST', token, key: `webhook-${accountId}`, body: { url } }
  const { json: webhook } = await service.call<WebhookResource>(path, call)
  await inTransaction(context, (tx) => recordEvent(tx, context, { accountId, type: 'transfer.created', data: {} }))
  const deliveries = async () =>
    (await service.call<{ deliveries: DeliveryResource[] }>(`${path}/deliveries`, { token })).json.deliveries
  return { accountId, webhook, deliveries }
}

async function settleWhile(
  change: (tx: Parameters<typeof disableWebhook>[0], one: Awaited<ReturnType<typeof notify>>) => Promise<unknown>,
) {
  held.length = 0
  const locked = await notify()
  const free = await notify()
  const delivery = startWebhookDelivery(context, { clock: manualClock(new Date().toISOString()) })
  await expect.poll(() => held.length, { timeout: 10_000 }).toBe(2)
  await inTransaction(context, async (tx) => {
    await change(tx, locked)
    for (const response of held) response.writeHead(204).end()
    await expect.poll(() => free.deliveries(), { timeout: 10_000 }).toMatchObject([{ status: 'delivered' }])
  })
  await delivery.drain()
  await delivery.stop()
  return await locked.deliveries()
}

it('writes the results of others while a transaction disables a webhook, and that of the webhook afterwards', async () => {
  const deliveries = await settleWhile((tx, { webhook }) => disableWebhook(tx, context, webhook.id, 'A test.'))
  expect(deliveries).toMatchObject([{ status: 'delivered', last_status: 204 }])
})

it('writes the results of others while a transaction removes a webhook', async () => {
  const deliveries = await settleWhile((tx, { accountId, webhook }) =>
    removeWebhook(tx, context, accountId, webhook.id),
  )
  expect(deliveries).toEqual([])
})
