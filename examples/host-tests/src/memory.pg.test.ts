import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { startMemoryOutlay } from '@outlay/harness'
import { testDatabase } from '@outlay/testing/vitest'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { createPayouts, invoices, payInvoice } from './payouts.ts'
import { migrateHost } from './schema.ts'

const database = await testDatabase({ key: 'host-tests', prepare: migrateHost })
const pool = new pg.Pool({ connectionString: database.url })
afterAll(() => pool.end())
const db = drizzle({ client: pool })

test('an invoice whose payout is refused is marked as failed', async () => {
  await using outlay = await startMemoryOutlay({ driver: drizzleDriver(db), createEngine: createPayouts })
  const account = outlay.account()
  const parties = { accountId: account.id, source: account.source(), destination: outlay.payee().destination() }
  await db.insert(invoices).values({ id: 'INV-9', amount: '9.00' })
  outlay.gateway.script(() => ({ outcome: 'rejected', code: 'address_not_found', detail: 'Nobody lives there.' }))

  const id = await db.transaction((tx) => payInvoice(tx, outlay.engine, 'INV-9', parties))
  await outlay.drain()
  expect(await outlay.engine.transfers.get(id)).toMatchObject({ status: 'failed' })
  const [invoice] = await db.select().from(invoices).where(eq(invoices.id, 'INV-9'))
  expect(invoice?.status).toBe('failed')
})
