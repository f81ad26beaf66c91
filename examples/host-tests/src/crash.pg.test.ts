import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { startOutlay } from '@outlay/harness'
import { spawnUntil } from '@outlay/testing'
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
const outlay = await startOutlay({
  driver: drizzleDriver(db),
  createEngine: createPayouts,
  postgres: { url: database.adminUrl },
  start: false,
})
afterAll(() => outlay.stop())

const invoiceStatus = async (id: string) => (await db.select().from(invoices).where(eq(invoices.id, id)))[0]?.status

test('an invoice is marked once although the worker dies between its handler and the commit', async () => {
  const account = await outlay.account({ funds: '500' })
  const payee = await outlay.payee(account)
  const parties = { accountId: account.id, source: account.source(), destination: payee.destination() }
  await db.insert(invoices).values({ id: 'INV-1', amount: '125.00' })

  const env = {
    DATABASE_URL: database.url,
    SERVICE_URL: outlay.serviceUrl,
    CREDENTIALS: JSON.stringify(account.credentials),
  }
  await using worker = await spawnUntil(new URL('./worker.ts', import.meta.url), 'handler_done', {
    env,
    readyTimeoutMs: 60_000,
  })
  const id = await db.transaction((tx) => payInvoice(tx, outlay.engine, 'INV-1', parties))
  await outlay.settle(id, 'complete')
  await worker.reached(60_000)
  await worker.kill()
  expect(await invoiceStatus('INV-1')).toBe('paying')

  await outlay.engine.start()
  await outlay.drain()
  expect(await invoiceStatus('INV-1')).toBe('paid')
  expect(await account.balance()).toBe('375.00')
}, 180_000)
