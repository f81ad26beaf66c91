/**
 * Pays three invoices through a provider with an API of its own. `northbank.ts` has all that Outlay needs to know of it;
 * `provider.ts` stands in for the provider. `docs/guides/connecting-a-provider.md` explains each step.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine } from '@outlay/core'
import { startFaultProxy, startPostgres, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { northbankGateway, northbankWebhooks } from './northbank.ts'
import { type Northbank, startNorthbank } from './provider.ts'

await main()

async function main(): Promise<void> {
  await using running = new AsyncDisposableStack()
  const server = running.use(await startPostgres())
  const databaseUrl = await server.createDatabase()
  running.defer(() => server.dropDatabase(databaseUrl))
  const pool = new pg.Pool({ connectionString: databaseUrl })
  running.defer(() => pool.end())
  const bank = running.use(await startNorthbank({ apiKey: 'key', webhookKey: 'webhook key', balance: 100_000 }))
  const proxy = running.use(await startFaultProxy({ target: bank.url }))

  const driver = pgDriver(pool)
  const engine = running.use(
    createEngine({
      backend: postgres({ driver }),
      gateway: northbankGateway({ baseUrl: proxy.url, apiKey: 'key' }),
      webhooks: northbankWebhooks({ key: 'webhook key' }),
    }),
  )
  engine.subscribe('invoices', ['transfer.completed', 'transfer.failed'], async ({ transferId, transfer }, tx) => {
    await tx.query('update invoice set state = $2 where transfer_id = $1', [transferId, transfer.status])
  })
  // A payment that was complete comes back days later.
  engine.subscribe('reopen-invoices', ['transfer.returned'], async ({ transferId, returned }, tx) => {
    const state = `${returned?.amount.value} ${returned?.amount.currency} came back (${returned?.code})`
    await tx.query('update invoice set state = $2 where transfer_id = $1', [transferId, state])
  })
  await engine.migrate()
  await pool.query('create table invoice (id text primary key, transfer_id text not null, state text not null)')

  const inbox = createServer(async (request, response) => {
    const webhook = { body: await buffer(request), headers: request.headers }
    const { status } = await engine.webhook(webhook, { accountId: 'acme' })
    response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => inbox.listen(0, '127.0.0.1', resolve))
  running.defer(() => void inbox.close())
  bank.webhookUrl = `http://127.0.0.1:${(inbox.address() as AddressInfo).port}`

  await enqueueInvoices(engine, driver)
  // The bank pays the first one, and its answer is lost.
  const lost = proxy.faults.add({ method: 'POST', times: 1, fault: { kind: 'drop_response' } })
  await engine.start()
  await waitUntil(async () => bank.books.payments.length === 2 && (await engine.backlog()).submitted === 2, {
    describe: () => 'both payments',
  })
  console.log(`${lost.applied} answer was lost; the bank has ${bank.books.payments.length} payments`)
  for (const { id } of bank.books.payments) await bank.end(id, 'settled')
  const states = async () => (await pool.query('select id, state from invoice order by id')).rows
  await waitUntil(async () => (await states()).every(({ state }) => state !== 'pending'), {
    describe: () => 'the webhooks',
  })
  for (const { id, state } of await states()) console.log(`${id}: ${state}`)
  await giveBack(bank, 'INV-1')
  const isReopened = async () => (await states()).find(({ state }) => state.includes('came back'))
  const reopened = await waitUntil(isReopened, { describe: () => 'the return' })
  console.log(`${reopened.id}: ${reopened.state}`)
  console.log(`${(bank.books.balance / 100).toFixed(2)} USD are left`)
}

async function enqueueInvoices(engine: Engine<pg.PoolClient>, driver: Driver<pg.PoolClient>): Promise<void> {
  const invoices = {
    'INV-1': ['payee_ada', '125.00'],
    'INV-2': ['payee_bo', '99.95'],
    'INV-3': ['nobody', '10.00'],
  } as const
  for (const [id, [payee, value]] of Object.entries(invoices)) {
    await driver.transaction(async (tx) => {
      const transfer = await engine.transfers.enqueue(tx, {
        accountId: 'acme',
        idempotencyKey: id,
        amount: { value, currency: 'USD' },
        source: { addressId: 'operating', valueType: 'USDC', transferType: 'base' },
        destination: { addressId: payee, valueType: 'USD', transferType: 'ach_credit' },
        note: id,
      })
      await tx.query(`insert into invoice values ($1, $2, 'pending')`, [id, transfer.id])
    })
  }
}

/** The payee's bank returns the payment of an invoice that was complete. */
async function giveBack({ books, end }: Northbank, invoice: string): Promise<void> {
  const payment = books.payments.find(({ memo }) => memo === invoice)
  if (payment !== undefined) await end(payment.id, 'returned')
}
