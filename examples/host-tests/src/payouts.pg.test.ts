import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { startOutlay } from '@outlay/harness'
import { usBankAccount } from '@outlay/testing'
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
})
afterAll(() => outlay.stop())
const { engine } = outlay

const invoiceStatus = async (id: string) => (await db.select().from(invoices).where(eq(invoices.id, id)))[0]?.status

test('an invoice and its payout commit together', async () => {
  const account = await outlay.account({ funds: '500' })
  const payee = await outlay.payee(account)
  const parties = { accountId: account.id, source: account.source(), destination: payee.destination() }
  await db.insert(invoices).values({ id: 'INV-1', amount: '125.00' })

  const failing = db.transaction(async (tx) => {
    await payInvoice(tx, engine, 'INV-1', parties)
    throw new Error('The host changes its mind.')
  })
  await expect(failing).rejects.toThrow('changes its mind')
  expect(await outlay.enqueued({ accountId: account.id })).toEqual([])

  await db.transaction((tx) => payInvoice(tx, engine, 'INV-1', parties))
  await outlay.assertEnqueued({ accountId: account.id, idempotencyKey: 'INV-1', amount: '125' })

  await outlay.drain()
  expect(await invoiceStatus('INV-1')).toBe('paid')
  expect(await account.balance()).toBe('375.00')
})

test('a wire is paid when its two hours have passed', async () => {
  const account = await outlay.account({ funds: '500' })
  const bank = await outlay.payee(account, usBankAccount)
  const parties = { accountId: account.id, source: account.source(), destination: bank.destination('USD', 'wire') }
  await db.insert(invoices).values({ id: 'INV-2', amount: '200.00' })
  const id = await db.transaction((tx) => payInvoice(tx, engine, 'INV-2', parties))

  await outlay.advance('1 minute')
  expect(await engine.transfers.get(id)).toMatchObject({ stage: 'submitted', status: 'processing' })
  await outlay.advance('1 day')
  expect(await engine.transfers.get(id)).toMatchObject({ stage: 'settled', status: 'complete' })
})

test('an ACH payment that comes back marks its invoice', async () => {
  const account = await outlay.account({ funds: '500' })
  const bank = await outlay.payee(account, usBankAccount)
  const parties = {
    accountId: account.id,
    source: account.source(),
    destination: bank.destination('USD', 'ach_credit'),
  }
  await db.insert(invoices).values({ id: 'INV-3', amount: '200.00' })
  const id = await db.transaction((tx) => payInvoice(tx, engine, 'INV-3', parties))

  const returned = await outlay.settle(id, { return: 'R03' })
  expect(returned).toMatchObject({ status: 'failed', failure: { code: 'R03' } })
  await outlay.drain()
  expect(await invoiceStatus('INV-3')).toBe('failed')
  expect(await account.balance()).toBe('500.00')
})

test('a lost answer costs nothing', async () => {
  const account = await outlay.account({ funds: '500' })
  const payee = await outlay.payee(account)
  const parties = { accountId: account.id, source: account.source(), destination: payee.destination() }
  await db.insert(invoices).values({ id: 'INV-4', amount: '50.00' })

  const lost = outlay.faults.dropAnswer()
  await db.transaction((tx) => payInvoice(tx, engine, 'INV-4', parties))
  await outlay.drain()
  expect(lost.applied).toBe(1)
  expect(await outlay.assertEnqueued({ idempotencyKey: 'INV-4' })).toMatchObject({ status: 'complete', attempt: 2 })
  expect(await account.balance()).toBe('450.00')
})
