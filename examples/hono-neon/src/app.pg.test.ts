import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { migrateSandbox, openSandbox } from '@outlay/example-sandbox'
import { openNeonProxy } from '@outlay/example-sandbox/neon-proxy'
import { listen } from '@outlay/example-sandbox/server'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect, it } from 'vitest'
import { createApp } from './app.ts'
import { createRemittanceEngine } from './engine.ts'
import { type Customer, migrateDatabase, openDatabase, type Remittance } from './schema.ts'

const { url: serviceUrl } = await testDatabase({ key: 'example-service', prepare: migrateSandbox })
const { url: databaseUrl } = await testDatabase()
const running = new AsyncDisposableStack()
afterAll(() => running.disposeAsync())

const sandbox = running.use(await openSandbox(serviceUrl))
running.use(await openNeonProxy(databaseUrl))
const pool = openDatabase(databaseUrl)
running.defer(() => pool.end())
const engine = running.use(createRemittanceEngine(pool, sandbox.access))
await migrateDatabase(pool)
await engine.migrate()
const app = createApp({ pool, engine, service: sandbox.access })
const { url } = running.use(await listen(createServer(getRequestListener(app.fetch))))
await sandbox.registerWebhooks(url)
await engine.start()
await pool.query(`insert into customer (id, balance) select unnest($1::text[]), '1000.00'`, [
  ['ada', 'bob', 'cy', 'dee'],
])

const address = { streetLine1: '7 Lake View', city: 'Austin', state: 'TX', zip: '78701' }
const recipient = (name: string, accountNumber: string) => ({
  name,
  accountNumber,
  routingNumber: '021000021',
  address,
  bankAddress: address,
})
const eve = recipient('Eve Moss', '1000004321')

const send = (path: string, amount: string, to: object = eve) => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ amount, recipient: to })
  return fetch(`${url}/customers/${path}`, { method: 'PUT', headers, body })
}
const read = async (path: string) => (await fetch(`${url}/customers/${path}`)).json() as Promise<Remittance>
const balance = async (id: string) =>
  (await pool.query<Customer>('select * from customer where id = $1', [id])).rows[0]?.balance
const addressOf = async (path: string) =>
  (await engine.transfers.get((await read(path)).transfer_id))?.request.destination.addressId

it('pays somebody new, and receives the webhook', async () => {
  const answer = await send('ada/remittances/rent', '250.00')
  expect(answer.status).toBe(202)
  expect(await answer.json()).toMatchObject({ id: 'rent', recipient: 'Eve Moss', status: 'on_its_way' })
  await sandbox.settle(engine)
  expect(await read('ada/remittances/rent')).toMatchObject({ status: 'paid' })
  expect(await balance('ada')).toBe('750.00')
})

it('registers a recipient once, whoever sends money there', async () => {
  expect((await send('bob/remittances/gift', '20.00')).status).toBe(202)
  expect((await send('bob/remittances/other', '30.00', recipient('Fay Moss', '1000008765'))).status).toBe(202)
  await sandbox.settle(engine)
  const registered = await addressOf('ada/remittances/rent')
  expect(registered).toEqual(expect.any(String))
  expect(await addressOf('bob/remittances/gift')).toBe(registered)
  expect(await addressOf('bob/remittances/other')).not.toBe(registered)
})

it('answers a wrong account with its field', async () => {
  const answer = await send('cy/remittances/odd', '10.00', { ...eve, routingNumber: '021000022' })
  expect(answer.status).toBe(422)
  expect(await answer.json()).toMatchObject({
    code: 'invalid_routing_number',
    field: 'destination.address.routingNumber',
  })
})

it('sends nothing when the balance is too small, though the payout was enqueued by then', async () => {
  expect((await send('cy/remittances/yacht', '1000.01')).status).toBe(409)
  const key = 'remittance/cy/yacht'
  expect(await engine.transfers.getByKey(sandbox.access.accountId, key)).toBeUndefined()
  expect(await balance('cy')).toBe('1000.00')
})

it('pays a repeated request once, at once or later', async () => {
  const [one, other] = await Promise.all([1, 2].map(() => send('cy/remittances/car', '300.00')))
  const later = await send('cy/remittances/car', '300.00')
  const [first, second, third] = await Promise.all([one, other, later].map((answer) => answer?.json()))
  expect([second, third]).toEqual([first, first])
  // The same name with another account is another payment.
  expect((await send('cy/remittances/car', '300.00', { ...eve, accountNumber: '1000004322' })).status).toBe(422)
  expect(await balance('cy')).toBe('700.00')
})

it('returns the money to its sender when the bank of the recipient refuses it', async () => {
  // The sandbox's banks refuse wires to an account number with this end.
  expect((await send('dee/remittances/lost', '400.00', recipient('Gus Moss', '1000000500'))).status).toBe(202)
  expect(await balance('dee')).toBe('600.00')
  await sandbox.settle(engine)
  expect(await read('dee/remittances/lost')).toMatchObject({ status: 'refunded' })
  expect(await balance('dee')).toBe('1000.00')
})

it('keeps no account number', async () => {
  const { rows } = await pool.query<{ copies: number }>(
    `select (select count(*) from outlay.counterparty_details)::integer
          + (select count(*) from outlay.transfer where transfer::text like '%1000004321%')::integer as copies`,
  )
  expect(rows).toEqual([{ copies: 0 }])
})

it('refuses forged webhooks, and has created only the expected transfers', async () => {
  for (const body of ['{"type":"transfer.completed"}', '']) {
    const forged = { method: 'POST', body }
    expect((await fetch(`${url}/webhooks/outlay/${sandbox.access.accountId}`, forged)).status).toBe(401)
  }
  await sandbox.settle(engine)
  expect(await sandbox.notes()).toEqual([
    'remittance car',
    'remittance gift',
    'remittance lost',
    'remittance other',
    'remittance rent',
  ])
})
