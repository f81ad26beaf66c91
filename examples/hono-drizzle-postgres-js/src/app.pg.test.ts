import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { listen } from '@outlay/example-sandbox/server'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createExpenseEngine, setPolicies } from './engine.ts'
import { employee, expense, migrateDatabase, openDatabase } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const database = running.use(openDatabase(databaseUrl))
const { db } = database
const engine = running.use(createExpenseEngine(database, sandbox.access))
await migrateDatabase(databaseUrl)
await engine.migrate()
await setPolicies(db, engine)
const app = createApp({ db, engine, service: sandbox.access })
const { url } = running.use(await listen(createServer(getRequestListener(app.fetch))))
await sandbox.registerWebhooks(url)
await engine.start()
const bankId = await sandbox.registerBank('Ada Park')
await db.insert(employee).values([
  { id: 'ada', role: 'designer', bankId },
  { id: 'bob', role: 'designer', bankId },
  { id: 'fay', role: 'finance', bankId },
  { id: 'fin', role: 'finance', bankId },
])

const send = (method: string, path: string, body: object) => {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/expenses/${path}`, { method, headers, body: JSON.stringify(body) })
}
const claim = (id: string, employeeId: string, amount: string) => send('PUT', id, { employeeId, amount })
const approve = (id: string, by: string) => send('POST', `${id}/approval`, { by })
const read = async (id: string) => (await fetch(`${url}/expenses/${id}`)).json()

it('pays a small expense at once', async () => {
  const answer = await claim('taxi', 'ada', '42.00')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ id: 'taxi', amount: '42.00', status: 'on_its_way' })
  await sandbox.settle(engine)
  expect(await read('taxi')).toMatchObject({ status: 'paid', decidedBy: null })
})

it('pays a large one once somebody of the finance department has approved it, and not before', async () => {
  expect(await (await claim('laptop', 'ada', '1800.00')).json()).toMatchObject({ status: 'waits_for_approval' })
  await sandbox.settle(engine)
  expect(await sandbox.notes()).not.toContain('expense laptop')
  const refused = await approve('laptop', 'bob')
  expect(refused.status).toBe(403)
  expect(await refused.json()).toMatchObject({ code: 'approval_refused' })
  expect(await (await approve('laptop', 'fay')).json()).toMatchObject({ status: 'on_its_way', decidedBy: 'fay' })
  await sandbox.settle(engine)
  expect(await read('laptop')).toMatchObject({ status: 'paid' })
})

it('lets nobody approve what they have claimed', async () => {
  await claim('desk', 'fay', '900.00')
  expect((await approve('desk', 'fay')).status).toBe(403)
  expect(await read('desk')).toMatchObject({ status: 'waits_for_approval', decidedBy: null })
  expect((await approve('desk', 'fin')).status).toBe(200)
  expect((await approve('desk', 'fin')).status).toBe(409)
})

it('never pays a rejected one, and approves it no more', async () => {
  await claim('boat', 'bob', '99000.00')
  expect((await send('POST', 'boat/rejection', { by: 'bob', reason: 'changed my mind' })).status).toBe(403)
  const rejected = await send('POST', 'boat/rejection', { by: 'fin', reason: 'not for work' })
  expect(await rejected.json()).toMatchObject({ status: 'rejected', decidedBy: 'fin' })
  expect((await approve('boat', 'fay')).status).toBe(409)
  expect((await send('POST', 'boat/rejection', { by: 'fay', reason: 'again' })).status).toBe(409)
})

it('pays a repeated request once, and answers a wrong amount with its field', async () => {
  const answers = await Promise.all([1, 2].map(() => claim('lunch', 'bob', '30.00')))
  const [first, second] = await Promise.all(answers.map((answer) => answer.json()))
  expect(second).toEqual(first)
  expect((await claim('lunch', 'bob', '31.00')).status).toBe(422)
  const odd = await claim('odd', 'bob', '10.005')
  expect(await odd.json()).toMatchObject({ code: 'amount_too_precise', field: 'amount.value' })
  expect((await claim('ghost', 'nobody', '10.00')).status).toBe(404)
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  const forged = { method: 'POST', body: '{"type":"transfer.completed"}' }
  expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  await sandbox.settle(engine)
  const notes = ['desk', 'laptop', 'lunch', 'taxi'].map((id) => `expense ${id}`)
  expect(await sandbox.notes()).toEqual(notes)
  const rows = await db.select({ id: expense.id, status: expense.status }).from(expense)
  expect(
    rows
      .filter(({ status }) => status === 'paid')
      .map(({ id }) => `expense ${id}`)
      .sort(),
  ).toEqual(notes)
})
