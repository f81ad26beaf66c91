import { createServer } from 'node:http'
import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { listen } from '@outlay/example-sandbox/server'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createRefundEngine } from './engine.ts'
import { migrateDatabase, openDatabase, type Purchase } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const pool = openDatabase(databaseUrl)
running.defer(() => pool.end())
const engine = running.use(createRefundEngine(pool, sandbox.access))
await migrateDatabase(pool)
await engine.migrate()
const app = createApp({ pool, engine, service: sandbox.access })
const { url } = running.use(await listen(createServer(app)))
await sandbox.registerWebhooks(url)
await engine.start()
const bankId = await sandbox.registerBank('Ada Park')

const sell = (id: string, total: string) =>
  pool.query('insert into purchase (id, bank_id, total) values ($1, $2, $3)', [id, bankId, total])
const refund = (path: string, amount: string) => {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/purchases/${path}`, { method: 'PUT', headers, body: JSON.stringify({ amount }) })
}
const read = async (path: string) => (await fetch(`${url}/purchases/${path}`)).json()
const refunded = async (id: string) =>
  (await pool.query<Purchase>('select refunded from purchase where id = $1', [id])).rows[0]?.refunded

it('pays a refund, and receives its webhook', async () => {
  await sell('bike', '900.00')
  const answer = await refund('bike/refunds/saddle', '45.00')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ id: 'saddle', amount: '45.00', status: 'on_its_way' })
  await sandbox.settle(engine)
  expect(await read('bike/refunds/saddle')).toMatchObject({ status: 'paid' })
  expect(await refunded('bike')).toBe('45.00')
})

it('answers a wrong amount with its field', async () => {
  await sell('lamp', '60000.00')
  const answer = await refund('lamp/refunds/all', '1,000')
  expect(answer.status).toBe(422)
  expect(await answer.json()).toMatchObject({ code: 'invalid_amount', field: 'amount.value' })
})

it('sends nothing when more than the price would go back, though the payout was enqueued by then', async () => {
  await sell('chair', '80.00')
  expect((await refund('chair/refunds/first', '50.00')).status).toBe(202)
  expect((await refund('chair/refunds/second', '30.01')).status).toBe(409)
  const key = 'refund/chair/second'
  expect(await engine.transfers.getByKey(sandbox.access.accountId, key)).toBeUndefined()
  expect(await refunded('chair')).toBe('50.00')
})

it('pays a repeated request once, at once or later', async () => {
  await sell('desk', '500.00')
  const [one, other] = await Promise.all([1, 2].map(() => refund('desk/refunds/scratch', '70.00')))
  const later = await refund('desk/refunds/scratch', '70.00')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  expect((await refund('desk/refunds/scratch', '71.00')).status).toBe(422)
  expect(await refunded('desk')).toBe('70.00')
})

it('can refund again when the bank rejected the payment', async () => {
  await sell('boat', '9000.00')
  // The sandbox rejects a payment of this amount after it was accepted.
  expect((await refund('boat/refunds/all', '6660.01')).status).toBe(202)
  expect(await refunded('boat')).toBe('6660.01')
  await sandbox.settle(engine)
  expect(await read('boat/refunds/all')).toMatchObject({ status: 'unpaid' })
  expect(await refunded('boat')).toBe('0.00')
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual(['refund all', 'refund first', 'refund saddle', 'refund scratch'])
})
