import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { manualClock, silentLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, expect, it } from 'vitest'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { migrateService } from '../database/migrations.ts'
import { beginAs } from '../database/tenant.ts'
import { startWebhookDelivery } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import type { WebhookResource } from './registrations.ts'

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
const canceling = new Pool({ connectionString: database.url, max: 1 })
afterAll(() => Promise.all([pool.end(), canceling.end()]))

let gone = 0
const receiver = createServer((_request, response) => {
  gone += 1
  response.writeHead(410).end()
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
afterAll(() => receiver.close())

it('an endpoint that is gone takes one connection, however many of its deliveries are under way', async () => {
  const context = testContext({ pool, clock: manualClock(), logger: silentLogger, allowPrivateWebhooks: true })
  const service = testService(context)
  const [{ token }, other] = [await service.signIn(), await service.signIn()]
  const accountId = await service.createAccount(token)
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
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
    await waitUntil(() => gone === 24)
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
