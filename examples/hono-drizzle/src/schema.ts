import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import { numeric, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import pg from 'pg'

/** A seller on the marketplace, and the balance that we owe in dollars. */
export const seller = pgTable('seller', {
  id: text('id').primaryKey(),
  /** Id of the seller's bank account at the service. */
  bankId: text('bank_id').notNull(),
  balance: numeric('balance', { precision: 12, scale: 2 }).notNull(),
})

/** A withdrawal of a seller. The seller chooses its id. */
export const withdrawal = pgTable(
  'withdrawal',
  {
    id: text('id').notNull(),
    sellerId: text('seller_id')
      .notNull()
      .references(() => seller.id),
    amount: numeric('amount', { precision: 12, scale: 2 }).notNull(),
    status: text('status', { enum: ['on_its_way', 'paid', 'returned'] })
      .notNull()
      .default('on_its_way'),
    transferId: text('transfer_id').notNull().unique(),
  },
  (table) => [primaryKey({ columns: [table.sellerId, table.id] })],
)

/** The marketplace's database, and the transaction that `db.transaction` gives. */
export type Database = ReturnType<typeof openDatabase>
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

/** Opens a pool; `db.$client.end()` closes it. */
export function openDatabase(url: string) {
  const client = new pg.Pool({ connectionString: url })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  client.on('error', () => {})
  return drizzle({ client, schema: { seller, withdrawal } })
}

/** Migrates the marketplace's own tables. Drizzle takes no lock, so a second process that migrates would do the same: it waits here. */
export async function migrateDatabase(db: Database): Promise<void> {
  const client = await db.$client.connect()
  try {
    await client.query(`set lock_timeout = '2min'; select pg_advisory_lock(20260106); reset lock_timeout`)
    await migrate(drizzle({ client }), { migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)) })
  } finally {
    // Closed, so that it keeps neither the lock nor its settings.
    client.release(true)
  }
}
