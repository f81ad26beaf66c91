import { migrateSandbox, openSandbox, toEnvironment } from '@outlay/example-sandbox'
import { listen } from '@outlay/example-sandbox/server'
import { spawnNode } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createRoyaltyEngine } from './engine.ts'
import { migrateDatabase, openDatabase, type Statement } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const db = openDatabase(databaseUrl)
running.defer(() => db.destroy())
const engine = running.use(createRoyaltyEngine(db, sandbox.access))
await migrateDatabase(db)
await engine.migrate()
const { url } = running.use(await listen(createApp({ db, engine, service: sandbox.access })))
await sandbox.registerWebhooks(url)
const env = toEnvironment(databaseUrl, sandbox.access)
running.use(await spawnNode(new URL('worker.ts', import.meta.url), { env }))
const bank_id = await sandbox.registerBank('Ada Park')

/** Ada and Bob have earned royalties since the last test. */
const earn = (ada: string, bob: string) =>
  db('author')
    .insert([
      { id: 'ada', bank_id, royalties: ada },
      { id: 'bob', bank_id, royalties: bob },
    ])
    .onConflict('id')
    .merge()
beforeEach(() => earn('120.50', '79.50'))

const open = (id: string, budget = '10000.00') => db('period').insert({ id, budget })
const close = (id: string, memo?: string) =>
  fetch(`${url}/periods/${id}/statements`, { method: 'POST', body: JSON.stringify({ memo }) })
const read = async (id: string) => (await fetch(`${url}/periods/${id}/statements`)).json() as Promise<Statement[]>
const royalties = async () => Object.fromEntries((await db('author')).map((author) => [author.id, author.royalties]))

it('pays every author, in another process, and receives the webhooks', async () => {
  await open('2026-01')
  const answer = await close('2026-01', 'Royalties for January')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject([
    { author_id: 'ada', amount: '120.50', status: 'on_its_way' },
    { author_id: 'bob', amount: '79.50', status: 'on_its_way' },
  ])
  await sandbox.settle(engine)
  expect(await read('2026-01')).toMatchObject([{ status: 'paid' }, { status: 'paid' }])
  expect(await royalties()).toEqual({ ada: '0.00', bob: '0.00' })
})

it('answers a memo that is too long with its field', async () => {
  await open('2026-02')
  const answer = await close('2026-02', 'long '.repeat(30))
  expect(answer.status).toBe(422)
  expect(await answer.json()).toMatchObject({ code: 'wire_memo_too_long', field: '0.destination.wireMemo' })
})

it('sends nothing when the budget is too small, though the payouts were enqueued by then', async () => {
  await open('2026-03', '199.99')
  expect((await close('2026-03')).status).toBe(409)
  for (const author of ['ada', 'bob']) {
    const key = `statement/2026-03/${author}`
    expect(await engine.transfers.getByKey(sandbox.access.accountId, key)).toBeUndefined()
  }
  expect(await royalties()).toEqual({ ada: '120.50', bob: '79.50' })
})

it('pays a repeated request once, at once or later', async () => {
  await open('2026-04')
  const [one, other] = await Promise.all([1, 2].map(() => close('2026-04')))
  await earn('5.00', '5.00')
  const later = await close('2026-04')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect(first).toHaveLength(2)
  expect([second, third]).toEqual([first, first])
  expect(await royalties()).toEqual({ ada: '5.00', bob: '5.00' })
})

it('puts a rejected payment on the next statement', async () => {
  // The sandbox rejects a payment of this amount after it was accepted.
  await earn('6660.01', '10.00')
  await open('2026-05')
  expect((await close('2026-05')).status).toBe(202)
  await sandbox.settle(engine)
  expect(await read('2026-05')).toMatchObject([{ status: 'unpaid' }, { status: 'paid' }])
  expect(await royalties()).toEqual({ ada: '6660.01', bob: '0.00' })
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  const paid = ['2026-01', '2026-04', '2026-05'].flatMap((period) => [
    `royalties ${period} ada`,
    `royalties ${period} bob`,
  ])
  expect(await sandbox.notes()).toEqual(paid)
})
