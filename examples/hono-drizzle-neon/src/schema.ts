import { fileURLToPath } from 'node:url'
import { Pool } from '@neondatabase/serverless'
import { drizzle } from 'drizzle-orm/neon-serverless'
import { migrate } from 'drizzle-orm/neon-serverless/migrator'
import { integer, numeric, pgTable, text, timestamp } from 'drizzle-orm/pg-core'

/** Somebody who works shifts. */
export const worker = pgTable('worker', {
  id: text('id').primaryKey(),
  /** Id of the worker's bank account at the service. */
  bankId: text('bank_id').notNull(),
  /** In dollars. */
  payPerHour: numeric('pay_per_hour', { precision: 12, scale: 2 }).notNull(),
})

/** A shift that was worked, and its pay. */
export const shift = pgTable('shift', {
  id: text('id').primaryKey(),
  workerId: text('worker_id')
    .notNull()
    .references(() => worker.id),
  minutes: integer('minutes').notNull(),
  amount: numeric('amount', { precision: 12, scale: 2 }).notNull(),
  /** When the payment may leave. */
  paysAt: timestamp('pays_at', { withTimezone: true }).notNull(),
  status: text('status', { enum: ['scheduled', 'paid', 'unpaid', 'withdrawn'] })
    .notNull()
    .default('scheduled'),
  transferId: text('transfer_id').notNull().unique(),
})

/** The platform's database, and the transaction that `db.transaction` gives. */
export type Database = ReturnType<typeof openDatabase>
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

/** Opens a pool whose connections are WebSockets; `db.$client.end()` closes it. */
export function openDatabase(url: string) {
  const client = new Pool({ connectionString: url, max: 20 })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  client.on('error', () => {})
  return drizzle({ client, schema: { worker, shift } })
}

/** Migrates the platform's own tables. Drizzle takes no lock, so a second process that migrates would do the same: it waits here. */
export async function migrateDatabase(url: string): Promise<void> {
  const client = new Pool({ connectionString: url, max: 2 })
  try {
    const lock = await client.connect()
    await lock.query('select pg_advisory_lock(20261127)')
    await migrate(drizzle({ client }), { migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)) })
    // The lock ends with its connection.
    lock.release(true)
  } finally {
    await client.end()
  }
}
