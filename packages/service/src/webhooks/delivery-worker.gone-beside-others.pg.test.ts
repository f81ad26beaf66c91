import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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

const answered = new Map<string, number>()
const receiver = createServer((request, response) => {
  const path = request.url ?? ''
  answered.set(path, (answered.get(path) ?? 0) + 1)
  response.writeHead(path.startsWith('/gone') ? 410 : 204).end()
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
afterAll(() => receiver.close())

it('endpoints that are gone keep nothing from the others of their client while the webhook of another client is disabled', async () => {
  const context = testContext({ pool, clock: manualClock(), logger: silentLogger, allowPrivateWebhooks: true })
  const service = testService(context)
  const [one, other] = [await service.signIn(), await service.signIn()]
  const [account, otherAccount] = [await service.createAccount(one.token), await service.createAccount(other.token)]
  const { port } = receiver.address() as AddressInfo
  const register = async (token: string, accountId: string, path: string) => {
    const call = { method: 'POST', token, key: path, body: { url: `http://127.0.0.1:${port}${path}` } }
    return (await service.call<WebhookResource>(`/accounts/${accountId}/webhooks`, call)).json
  }
  const record = (accountId: string) =>
    inTransaction(context, (tx) => recordEvent(tx, context, { accountId, type: 'transfer.created', data: {} }))
  const long = await register(other.token, otherAccount, '/gone-long')
  await record(otherAccount)
  // Stands for a long backlog that is canceled: whoever disables this webhook takes long.
  const holder = await canceling.connect()
  await holder.query(beginAs('system'))
  await holder.query(`select 1 from ${testSchema}.webhook_registration where id = $1 for update`, [long.id])
  const delivery = startWebhookDelivery(context, { clock: { now: () => new Date() }, concurrency: 16 })
  try {
    await waitUntil(() => answered.get('/gone-long') === 1)
    for (const path of ['/gone-1', '/gone-2']) await register(one.token, account, path)
    for (let count = 0; count < 40; count += 1) await record(account)
    await waitUntil(() => (answered.get('/gone-1') ?? 0) > 0 && (answered.get('/gone-2') ?? 0) > 0)
    await register(one.token, account, '/well')
    await record(account)
    await waitUntil(() => answered.get('/well') === 1, {
      timeoutMs: 15_000,
      describe: () => `the endpoint that is well; there were ${JSON.stringify([...answered])}`,
    })
  } finally {
    await holder.query('rollback')
    holder.release()
    await delivery.drain()
    await delivery.stop()
  }
  expect(answered.get('/well')).toBe(1)
})
