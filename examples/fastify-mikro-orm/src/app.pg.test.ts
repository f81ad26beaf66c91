import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { migrateDatabase, openDatabase } from './database.ts'
import { createSavingsEngine } from './engine.ts'
import { Entry, Saver, type Withdrawal } from './entities.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const database = running.use(await openDatabase(databaseUrl))
const engine = running.use(createSavingsEngine(database, sandbox.access))
await migrateDatabase(database)
await engine.migrate()
const app = createApp({ database, engine, service: sandbox.access })
running.defer(() => app.close())
const url = await app.listen({ host: '127.0.0.1', port: 0 })
await sandbox.registerWebhooks(url)
await engine.start()
const bankId = await sandbox.registerBank('Ada Park')

async function save(id: string, amount = '1000.00') {
  const em = database.orm.em.fork()
  em.create(Entry, { saver: em.create(Saver, { id, bankId }), amount, reason: 'deposit' })
  await em.flush()
}
const withdraw = (path: string, amount: string) => {
  const headers = { 'content-type': 'application/json' }
  return fetch(`${url}/savers/${path}`, { method: 'PUT', headers, body: JSON.stringify({ amount }) })
}
const read = async (path: string) => (await fetch(`${url}/savers/${path}`)).json() as Promise<Withdrawal>
const account = async (id: string) => (await fetch(`${url}/savers/${id}`)).json()

it('pays a withdrawal, and receives the webhook', async () => {
  await save('ada')
  const answer = await withdraw('ada/withdrawals/rent', '250.00')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ name: 'rent', amount: '250.00', status: 'on_its_way' })
  await sandbox.settle(engine)
  expect(await read('ada/withdrawals/rent')).toMatchObject({ status: 'paid' })
  expect(await account('ada')).toMatchObject({ balance: '750.00' })
})

it('credits what the bank returns after it was paid', async () => {
  const { transferId } = await read('ada/withdrawals/rent')
  const { remoteId } = (await engine.transfers.get(transferId)) ?? {}
  await sandbox.returnPayment(remoteId ?? '', 'R02')
  await waitUntil(async () => (await read('ada/withdrawals/rent')).status === 'returned')
  expect(await account('ada')).toEqual({
    balance: '1000.00',
    entries: [
      ['1000.00', 'deposit'],
      ['-250.00', 'withdrawal: rent'],
      ['250.00', 'returned with R02: rent'],
    ],
  })
  // The transfer stays complete: it was paid, and then it came back.
  expect(await engine.transfers.get(transferId)).toMatchObject({ status: 'complete' })
})

it('answers a wrong amount with its field', async () => {
  await save('bob')
  const answer = await withdraw('bob/withdrawals/odd', '10.005')
  expect(answer.status).toBe(422)
  expect(await answer.json()).toMatchObject({ code: 'amount_too_precise', field: 'amount.value' })
})

it('sends nothing when the balance is too small, though the payout was enqueued by then', async () => {
  expect((await withdraw('bob/withdrawals/yacht', '1000.01')).status).toBe(409)
  const key = 'withdrawal/bob/yacht'
  expect(await engine.transfers.getByKey(sandbox.access.accountId, key)).toBeUndefined()
  expect(await account('bob')).toEqual({ balance: '1000.00', entries: [['1000.00', 'deposit']] })
})

it('pays no more than the balance to requests at once', async () => {
  await save('cy', '100.00')
  const answers = await Promise.all(['one', 'two', 'three'].map((name) => withdraw(`cy/withdrawals/${name}`, '50.00')))
  expect(answers.map(({ status }) => status).sort()).toEqual([202, 202, 409])
  expect(await account('cy')).toMatchObject({ balance: '0.00' })
})

it('pays a repeated request once, at once or later', async () => {
  await save('dee')
  const [one, other] = await Promise.all([1, 2].map(() => withdraw('dee/withdrawals/car', '300.00')))
  const later = await withdraw('dee/withdrawals/car', '300.00')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  expect((await withdraw('dee/withdrawals/car', '400.00')).status).toBe(422)
  expect(await account('dee')).toMatchObject({ balance: '700.00' })
})

it('credits a payment that the bank rejects', async () => {
  await save('eve', '6660.01')
  // The sandbox rejects a payment of this amount after it was accepted.
  expect((await withdraw('eve/withdrawals/all', '6660.01')).status).toBe(202)
  expect(await account('eve')).toMatchObject({ balance: '0.00' })
  await sandbox.settle(engine)
  expect(await read('eve/withdrawals/all')).toMatchObject({ status: 'failed' })
  expect(await account('eve')).toMatchObject({ balance: '6660.01' })
})

it('leaves the tables of the engine alone when its own schema is updated', async () => {
  expect(await database.orm.schema.getUpdateSchemaSQL()).not.toMatch(/outlay|drop/)
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  const notes = await sandbox.notes()
  expect(notes.filter((note) => !/ (one|two|three)$/.test(note))).toEqual([
    'withdrawal all',
    'withdrawal car',
    'withdrawal rent',
  ])
  expect(notes).toHaveLength(5)
})
