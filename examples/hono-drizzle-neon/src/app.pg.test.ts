import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { openNeonProxy } from '@outlay/example-sandbox/neon-proxy'
import { listen } from '@outlay/example-sandbox/server'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createShiftEngine } from './engine.ts'
import { migrateDatabase, openDatabase, shift, worker } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
running.use(await openNeonProxy(databaseUrl))
const db = openDatabase(databaseUrl)
running.defer(() => db.$client.end())
const engine = running.use(createShiftEngine(db, sandbox.access))
await migrateDatabase(databaseUrl)
await engine.migrate()
const app = createApp({ db, engine, service: sandbox.access })
const { url } = running.use(await listen(createServer(getRequestListener(app.fetch))))
await sandbox.registerWebhooks(url)
await engine.start()
await db.insert(worker).values([
  { id: 'ada', bankId: await sandbox.registerBank('Ada Park'), payPerHour: '31.00' },
  // The sandbox refuses wires to such an account number.
  { id: 'bob', bankId: await sandbox.registerBank('Bob Lee', '1000000500'), payPerHour: '28.50' },
])

const confirm = (id: string, body: object) => {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/shifts/${id}`, { method: 'PUT', headers, body: JSON.stringify(body) })
}
const withdraw = (id: string) => fetch(`${url}/shifts/${id}/payment`, { method: 'DELETE' })
const read = async (id: string) => (await fetch(`${url}/shifts/${id}`)).json()

it('pays a shift at once, to the cent', async () => {
  const answer = await confirm('monday', { workerId: 'ada', minutes: 470 })
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ id: 'monday', amount: '242.84', status: 'scheduled' })
  await sandbox.settle(engine)
  expect(await read('monday')).toMatchObject({ status: 'paid' })
})

it('keeps one until its moment, and withdraws it for good', async () => {
  const paysAt = new Date(Date.now() + 365 * 86_400_000).toISOString()
  const answer = await confirm('tuesday', { workerId: 'ada', minutes: 240, paysAt })
  expect(await answer.json()).toMatchObject({ status: 'scheduled', paysAt })
  const { transferId } = (await read('tuesday')) as { readonly transferId: string }
  expect(await engine.transfers.get(transferId)).toMatchObject({ stage: 'queued', attempt: 0 })
  expect(await (await withdraw('tuesday')).json()).toMatchObject({ status: 'withdrawn' })
  await sandbox.settle(engine)
  expect(await read('tuesday')).toMatchObject({ status: 'withdrawn' })
})

it('withdraws nothing that has left', async () => {
  const answer = await withdraw('monday')
  expect(answer.status).toBe(409)
  expect(await answer.json()).toMatchObject({ code: 'transfer_not_cancelable' })
  expect(await read('monday')).toMatchObject({ status: 'paid' })
})

it('says that a shift is unpaid when the bank refuses its wire', async () => {
  expect((await confirm('thursday', { workerId: 'bob', minutes: 60 })).status).toBe(202)
  await sandbox.settle(engine)
  expect(await read('thursday')).toMatchObject({ amount: '28.50', status: 'unpaid' })
})

it('rolls the payout back with a row that the database refuses', async () => {
  const error = console.error
  console.error = () => {}
  const answer = await confirm('friday', { workerId: 'ada', minutes: 3_000_000_000 })
  console.error = error
  expect(answer.status).toBe(500)
  expect(await engine.transfers.getByKey(sandbox.access.accountId, 'shift/friday')).toBeUndefined()
})

it('pays a repeated request once, and answers a wrong request with its field', async () => {
  const answers = await Promise.all([1, 2].map(() => confirm('sunday', { workerId: 'ada', minutes: 30 })))
  const [first, second] = await Promise.all(answers.map((answer) => answer.json()))
  expect(second).toEqual(first)
  expect((await confirm('sunday', { workerId: 'ada', minutes: 31 })).status).toBe(422)
  const none = await confirm('none', { workerId: 'ada', minutes: 0 })
  expect(await none.json()).toMatchObject({ field: 'amount.value' })
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  const forged = { method: 'POST', body: '{"type":"transfer.completed"}' }
  expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual(['shift monday', 'shift sunday', 'shift thursday'])
  const rows = await db.select().from(shift)
  expect(rows.map(({ id }) => id).sort()).toEqual(['monday', 'sunday', 'thursday', 'tuesday'])
})
