import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createClaimEngine } from './engine.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const database = openDatabase(databaseUrl)
const { db } = database
running.defer(() => db.destroy())
const engine = running.use(createClaimEngine(database, sandbox.access))
await migrateDatabase(database)
await engine.migrate()
const app = createApp({ database, engine, service: sandbox.access })
running.defer(() => app.close())
const url = await app.listen({ host: '127.0.0.1', port: 0 })
await sandbox.registerWebhooks(url)
await engine.start()
const bank_id = await sandbox.registerBank('Ada Park')

async function report(id: string, limit: string) {
  await db.insertInto('policy').values({ id, bank_id, limit }).execute()
  await db.insertInto('claim').values({ id, policy_id: id }).execute()
}
const settle = (id: string, amount: string) => {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/claims/${id}/settlement`, { method: 'POST', headers, body: JSON.stringify({ amount }) })
}
const read = async (id: string) => (await fetch(`${url}/claims/${id}`)).json()
const paidOut = async (id: string) =>
  (await db.selectFrom('policy').select('paid_out').where('id', '=', id).executeTakeFirst())?.paid_out

it('pays a claim, and receives its webhook', async () => {
  await report('roof', '5000.00')
  const answer = await settle('roof', '1800.00')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ id: 'roof', settlement: '1800.00', status: 'settled' })
  await sandbox.settle(engine)
  expect(await read('roof')).toMatchObject({ status: 'paid' })
  expect(await paidOut('roof')).toBe('1800.00')
})

it('answers a wrong amount with its field', async () => {
  await report('window', '5000.00')
  const answer = await settle('window', '-1')
  expect(answer.status).toBe(422)
  expect(await answer.json()).toMatchObject({ code: 'invalid_amount', field: 'amount.value' })
})

it('sends nothing when the policy covers less, though the payout was enqueued by then', async () => {
  await report('palace', '5000.00')
  const answer = await settle('palace', '5000.01')
  expect(answer.status).toBe(409)
  expect(await engine.transfers.getByKey(sandbox.access.accountId, 'claim/palace')).toBeUndefined()
  expect(await read('palace')).toMatchObject({ status: 'open', settlement: null })
})

it('pays a repeated request once, at once or later', async () => {
  await report('car', '5000.00')
  const [one, other] = await Promise.all([1, 2].map(() => settle('car', '700.00')))
  const later = await settle('car', '700.00')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  expect((await settle('car', '900.00')).status).toBe(422)
  expect(await paidOut('car')).toBe('700.00')
})

it('does not count a rejected payment against the limit', async () => {
  await report('boat', '9000.00')
  // The sandbox rejects a payment of this amount after it was accepted.
  expect((await settle('boat', '6660.01')).status).toBe(202)
  await sandbox.settle(engine)
  expect(await read('boat')).toMatchObject({ status: 'unpaid' })
  expect(await paidOut('boat')).toBe('0.00')
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual(['claim boat', 'claim car', 'claim roof'])
})
