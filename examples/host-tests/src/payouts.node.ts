import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { startOutlay } from '@outlay/harness'
import { startPostgres } from '@outlay/testing'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { createPayouts, invoices, payInvoice } from './payouts.ts'
import { migrateHost } from './schema.ts'

const postgres = await startPostgres({ durable: false })
const databaseUrl = await postgres.createDatabase()
await migrateHost(databaseUrl)
const pool = new pg.Pool({ connectionString: databaseUrl })
const db = drizzle({ client: pool })
const outlay = await startOutlay({ driver: drizzleDriver(db), createEngine: createPayouts, postgres })
after(async () => {
  await outlay.stop()
  await pool.end()
  await postgres.dropDatabase(databaseUrl)
  await postgres.stop()
})

test('an invoice is paid through a service that breaks down', async () => {
  const account = await outlay.account({ funds: '500' })
  const payee = await outlay.payee(account)
  const parties = { accountId: account.id, source: account.source(), destination: payee.destination() }
  await db.insert(invoices).values({ id: 'INV-1', amount: '125.00' })

  outlay.faults.failAfterCommit()
  await db.transaction((tx) => payInvoice(tx, outlay.engine, 'INV-1', parties))
  await outlay.assertEnqueued({ idempotencyKey: 'INV-1', amount: '125', destination: payee.destination() })

  await outlay.drain()
  const [invoice] = await db.select().from(invoices).where(eq(invoices.id, 'INV-1'))
  assert.equal(invoice?.status, 'paid')
  assert.equal(await account.balance(), '375.00')
})
