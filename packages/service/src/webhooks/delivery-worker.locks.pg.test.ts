import type { ServerResponse } from 'node:http'
import { manualClock } from '@outlay/testing'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { startReceiver } from '../../test/receiver.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inTransaction, type Tx } from '../context.ts'
import { asSystem } from '../database/tenant.ts'
import { startWebhookDelivery } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import { cancelSize, changeWebhook, disableWebhook, removeWebhook } from './registrations.ts'
import type { DeliveryResource, WebhookResource } from './view.ts'

const { pool } = await serviceDatabase()

const held: ServerResponse[] = []
const { base: url } = await startReceiver((response) => held.push(response))

const context = testContext({ pool, allowPrivateWebhooks: true })
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

async function settleWhile(change: (tx: Tx, one: Awaited<ReturnType<typeof notify>>) => Promise<unknown>) {
  held.length = 0
  const locked = await notify()
  const free = await notify()
  const delivery = startWebhookDelivery(context, { clock: manualClock(new Date().toISOString()) })
  await expect.poll(() => held.length).toBe(2)
  await inTransaction(context, async (tx) => {
    await change(tx, locked)
    for (const response of held) response.writeHead(204).end()
    await expect.poll(() => free.deliveries()).toMatchObject([{ status: 'delivered' }])
  })
  await delivery.drain()
  await delivery.stop()
  return await locked.deliveries()
}

it('writes the results of others while a transaction disables a webhook, and that of the webhook afterwards', async () => {
  const deliveries = await settleWhile((tx, { accountId, webhook }) =>
    changeWebhook(tx, context, accountId, webhook.id, { status: 'disabled' }),
  )
  expect(deliveries).toMatchObject([{ status: 'delivered', last_status: 204 }])
})

it('writes the results of others while a transaction removes a webhook', async () => {
  const deliveries = await settleWhile((tx, { accountId, webhook }) =>
    removeWebhook(tx, context, accountId, webhook.id),
  )
  expect(deliveries).toEqual([])
})

it('cancels the many deliveries of an endpoint that is gone in small transactions', async () => {
  const { webhook, deliveries } = await notify()
  const { query } = inspect(pool)
  await query(
    `insert into ${testSchema}.webhook_delivery (registration_id, event_id, account_id, created_at)
     select registration_id, event_id, account_id, created_at
       from ${testSchema}.webhook_delivery cross join generate_series(1, $2) where registration_id = $1`,
    [webhook.id, 2 * cancelSize + 10],
  )
  await disableWebhook(asSystem(context), context, webhook.id, 'A test.')
  const { rows } = await query(
    `select status, count(*)::integer as count from ${testSchema}.webhook_delivery where registration_id = $1
      group by xmin, status order by count`,
    [webhook.id],
  )
  expect(rows).toEqual([11, cancelSize, cancelSize].map((count) => ({ status: 'canceled', count })))
  expect((await deliveries())[0]).toMatchObject({ status: 'canceled' })
})

it('delivers to others while a transaction has locked what is known of an endpoint that fails', async () => {
  held.length = 0
  const [failing, free] = [await notify(), await notify()]
  const endpoint = `select key from ${testSchema}.webhook_endpoint where key like $1 for update`
  const delivery = startWebhookDelivery(context, { clock: manualClock(new Date().toISOString()) })
  await expect.poll(() => held.length).toBe(2)
  for (const response of held.splice(0)) response.writeHead(500).end()
  await expect.poll(() => failing.deliveries()).toMatchObject([{ attempts: 1, last_status: 500 }])
  await inTransaction(context, async (tx) => {
    await expect.poll(async () => (await tx.query(endpoint, ['%'])).rowCount).toBeGreaterThan(0)
    const { accountId } = free
    await inTransaction(context, (other) =>
      recordEvent(other, context, { accountId, type: 'transfer.created', data: {} }),
    )
    await expect.poll(() => held.length).toBe(1)
    held[0]?.writeHead(500).end()
    const failed = { last_status: 500 }
    await expect.poll(() => free.deliveries()).toMatchObject([failed, failed])
    await inTransaction(context, (other) =>
      recordEvent(other, context, { accountId, type: 'transfer.created', data: {} }),
    )
    await expect.poll(() => held.length).toBe(2)
  })
  held[1]?.writeHead(204).end()
  await delivery.stop()
})
