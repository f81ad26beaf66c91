import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { listen } from '@outlay/example-sandbox/server'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createSettlementEngine } from './engine.ts'
import { migrateDatabase, openDatabase } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
const database = running.use(openDatabase(databaseUrl))
const { sql } = database
const engine = running.use(createSettlementEngine(database, sandbox.access))
await migrateDatabase(database)
await engine.migrate()
const app = createApp({ database, engine, service: sandbox.access })
const { url } = running.use(await listen(createServer(getRequestListener(app.fetch))))
await sandbox.registerWebhooks(url)
await engine.start()
const bank_id = await sandbox.registerBank('Ada Park')
await sql`insert into merchant ${sql(['bakery', 'cinema', 'garage'].map((id) => ({ id, bank_id })))}`

/** A day on which each of the merchants sold something, and what the card schemes have paid for it. */
async function trade(day_id: string, received: string, sales: Readonly<Record<string, readonly string[]>>) {
  await sql`insert into day ${sql({ id: day_id, received })}`
  const rows = Object.entries(sales).flatMap(([merchant_id, amounts]) =>
    amounts.map((amount) => ({ day_id, merchant_id, amount })),
  )
  await sql`insert into sale ${sql(rows)}`
}
const settle = (day: string) => fetch(`${url}/days/${day}/settlement`, { method: 'POST' })
const read = async (path: string) => (await fetch(`${url}/${path}`)).json()
const untilSettled = (day: string) =>
  waitUntil(async () => {
    const found = (await read(`days/${day}`)) as { readonly settledAt: string | null; readonly payouts: unknown }
    return found.settledAt === null ? undefined : found
  })

it('pays every merchant of a day, and knows when the last payout has ended', async () => {
  await trade('monday', '1000.00', { bakery: ['12.50', '30.00'], garage: ['480.00'] })
  expect(await read('days/monday')).toEqual({ id: 'monday', settledAt: null, payouts: null })
  const answer = await settle('monday')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject([
    { merchant_id: 'bakery', amount: '42.50', status: 'on_its_way' },
    { merchant_id: 'garage', amount: '480.00', status: 'on_its_way' },
  ])
  await sandbox.settle(engine)
  expect((await untilSettled('monday')).payouts).toMatchObject({ total: 2, complete: 2, unended: 0 })
})

it('settles a day of which a bank rejects one payout, and says why', async () => {
  // The sandbox rejects a payment of this amount after it was accepted.
  await trade('tuesday', '9000.00', { bakery: ['8.00'], cinema: ['6000.00', '660.01'] })
  expect((await settle('tuesday')).status).toBe(202)
  await sandbox.settle(engine)
  expect((await untilSettled('tuesday')).payouts).toMatchObject({ total: 2, complete: 1, failed: 1, unended: 0 })
  expect(await read('merchants/cinema/payouts')).toEqual({
    payouts: [{ day: 'tuesday', amount: '6660.01', status: 'failed', reason: 'The transaction was reverted' }],
    nextCursor: null,
  })
})

it('sends nothing of a day that is not covered, and pays it when it is', async () => {
  await trade('wednesday', '99.99', { bakery: ['60.00'], garage: ['40.00'] })
  expect((await settle('wednesday')).status).toBe(409)
  for (const merchant of ['bakery', 'garage']) {
    const key = `settlement/wednesday/${merchant}`
    expect(await engine.transfers.getByKey(sandbox.access.accountId, key)).toBeUndefined()
  }
  expect(await read('days/wednesday')).toMatchObject({ payouts: null })
  await sql`update day set received = 100 where id = 'wednesday'`
  expect((await settle('wednesday')).status).toBe(202)
  expect(await read('days/wednesday')).toMatchObject({ payouts: { total: 2 } })
})

it('settles a day once, however many ask, at once or later', async () => {
  await trade('thursday', '100.00', { cinema: ['25.00'], garage: ['75.00'] })
  const [one, other] = await Promise.all([1, 2].map(() => settle('thursday')))
  await sql`insert into sale ${sql({ day_id: 'thursday', merchant_id: 'bakery', amount: '5.00' })}`
  const later = await settle('thursday')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect(first).toHaveLength(2)
  expect([second, third]).toEqual([first, first])
})

it('lists the payouts of a merchant by pages, the newest first', async () => {
  const first = (await read('merchants/garage/payouts?limit=2')) as { nextCursor: string }
  expect(first).toMatchObject({ payouts: [{ day: 'thursday' }, { day: 'wednesday' }] })
  const second = await read(`merchants/garage/payouts?limit=2&cursor=${first.nextCursor}`)
  expect(second).toMatchObject({ payouts: [{ day: 'monday', amount: '480.00' }], nextCursor: null })
  const wrong = await fetch(`${url}/merchants/garage/payouts?limit=all`)
  expect([wrong.status, await wrong.json()]).toMatchObject([422, { field: 'limit' }])
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual([
    'settlement monday bakery',
    'settlement monday garage',
    'settlement thursday cinema',
    'settlement thursday garage',
    'settlement tuesday bakery',
    'settlement tuesday cinema',
    'settlement wednesday bakery',
    'settlement wednesday garage',
  ])
})
