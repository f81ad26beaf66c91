import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { startReceiver } from '../../test/receiver.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { beginAs } from '../database/tenant.ts'
import { startWebhookDelivery } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import type { WebhookResource } from './view.ts'

const { pool, open } = await serviceDatabase()
const canceling = open(1)

const { base: url, received } = await startReceiver((response) => response.writeHead(410).end())

it('an endpoint that is gone takes one connection, however many of its deliveries are under way', async () => {
  const context = testContext({ pool, allowPrivateWebhooks: true })
  const service = testService(context)
  const [{ token }, other] = [await service.signIn(), await service.signIn()]
  const accountId = await service.createAccount(token)
  const call = { method: 'POST', token, key: 'gone', body: { url } }
  const { json: webhook } = await service.call<WebhookResource>(`/accounts/${accountId}/webhooks`, call)
  const record = () =>
    inTransaction(context, (tx) => recordEvent(tx, context, { accountId, type: 'transfer.created', data: {} }))
  for (let count = 0; count < 24; count += 1) await record()
  // Stands for the transaction that cancels a long backlog: it has the row of the webhook until the end.
  const holder = await canceling.connect()
  await holder.query(beginAs('system'))
  await holder.query(`select 1 from ${testSchema}.webhook_registration where id = $1 for update`, [webhook.id])
  const delivery = startWebhookDelivery(context, { clock: { now: () => new Date() } })
  try {
    await waitUntil(() => received.length === 24)
    const another = service.createAccount(other.token).then(() => 'served')
    expect(await Promise.race([another, delay(10_000, 'waits')])).toBe('served')
  } finally {
    await holder.query('rollback')
    holder.release()
    await delivery.drain()
    await delivery.stop()
  }
  const { json: after } = await service.call<WebhookResource>(
    `/accounts/${accountId}/webhooks/subscriptions/${webhook.id}`,
    { token },
  )
  expect(after.status).toBe('disabled')
})
