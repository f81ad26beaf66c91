import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { listen } from '@outlay/example-sandbox/server'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createWithdrawalEngine } from './engine.ts'
import { migrateDatabase, openDatabase, seller } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const db = openDatabase(databaseUrl)
running.defer(() => db.$client.end())
const engine = running.use(createWithdrawalEngine(db, sandbox.access))
await migrateDatabase(db)
await engine.migrate()
const app = createApp({ db, engine, service: sandbox.access })
const { url } = running.use(await listen(createServer(getRequestListener(app.fetch))))
await sandbox.registerWebhooks(url)
await engine.start()
const bankId = await sandbox.registerBank('Ada Park')
await db.insert(seller).values(['ada', 'bob', 'cy'].map((id) => ({ id, bankId, balance: '1000.00' })))

const withdraw = (path: string, amount: string) => {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/sellers/${path}`, { method: 'PUT', headers, body: JSON.stringify({ amount }) })
}
const read = async (path: string) => (await fetch(`${url}/sellers/${path}`)).json()
const balances = async () =>
  Object.fromEntries((await db.select().from(seller)).map(({ id, balance }) => [id, balance]))

it('pays a withdrawal, and receives its webhook', async () => {
  const answer = await withdraw('ada/withdrawals/rent', '250.00')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ id: 'rent', amount: '250.00', status: 'on_its_way' })
  await sandbox.settle(engine)
  expect(await read('ada/withdrawals/rent')).toMatchObject({ status: 'paid' })
  expect(await balances()).toMatchObject({ ada: '750.00' })
})

it('answers a wrong amount with its field', async () => {
  const answer = await withdraw('bob/withdrawals/odd', '10.005')
  expect(answer.status).toBe(422)
  expect(await answer.json()).toMatchObject({ code: 'amount_too_precise', field: 'amount.value' })
})

it('sends nothing when the balance is too small, though the payout was enqueued by then', async () => {
  const answer = await withdraw('bob/withdrawals/yacht', '1000.01')
  expect(answer.status).toBe(409)
  const key = 'withdrawal/bob/yacht'
  expect(await engine.transfers.getByKey(sandbox.access.accountId, key)).toBeUndefined()
  expect(await balances()).toMatchObject({ bob: '1000.00' })
})

it('pays a repeated request once, at once or later', async () => {
  const [one, other] = await Promise.all([1, 2].map(() => withdraw('cy/withdrawals/car', '300.00')))
  const later = await withdraw('cy/withdrawals/car', '300.00')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  expect((await withdraw('cy/withdrawals/car', '400.00')).status).toBe(422)
  expect(await balances()).toMatchObject({ cy: '700.00' })
})

it('returns the money of a rejected payment to the balance', async () => {
  // The sandbox rejects a payment of this amount after it was accepted.
  await db.insert(seller).values({ id: 'dee', bankId, balance: '6660.01' })
  expect((await withdraw('dee/withdrawals/all', '6660.01')).status).toBe(202)
  expect(await balances()).toMatchObject({ dee: '0.00' })
  await sandbox.settle(engine)
  expect(await read('dee/withdrawals/all')).toMatchObject({ status: 'returned' })
  expect(await balances()).toMatchObject({ dee: '6660.01' })
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual(['withdrawal all', 'withdrawal car', 'withdrawal rent'])
})
