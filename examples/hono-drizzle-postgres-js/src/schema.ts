import { fileURLToPath } from 'node:url'
import { numeric, pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import pg from 'pg'
import postgresJs from 'postgres'

/** Somebody who works for the agency. */
export const employee = pgTable('employee', {
  id: text('id').primaryKey(),
  role: text('role', { enum: ['designer', 'finance'] }).notNull(),
  /** Id of the employee's bank account at the service. */
  bankId: text('bank_id').notNull(),
})

/** What an employee has spent for the agency. The employee chooses its id. */
export const expense = pgTable('expense', {
  id: text('id').primaryKey(),
  employeeId: text('employee_id')
    .notNull()
    .references(() => employee.id),
  amount: numeric('amount', { precision: 12, scale: 2 }).notNull(),
  status: text('status', { enum: ['waits_for_approval', 'on_its_way', 'paid', 'unpaid', 'rejected'] }).notNull(),
  /** Who approved or rejected it; null where nobody had to. */
  decidedBy: text('decided_by').references(() => employee.id),
  transferId: text('transfer_id').notNull().unique(),
})

const schema = { employee, expense }
const openDrizzle = (client: postgresJs.Sql) => drizzle({ client, schema })

/** Drizzle over postgres.js, and the transaction that `db.transaction` gives. */
export type Drizzle = ReturnType<typeof openDrizzle>
export type Transaction = Parameters<Parameters<Drizzle['transaction']>[0]>[0]

/** The agency's database: Drizzle for its own work, and a pool of node-postgres for the engine's workers. */
export interface Database extends AsyncDisposable {
  readonly db: Drizzle
  readonly pool: pg.Pool
}

/** Opens both. */
export function openDatabase(url: string): Database {
  const db = openDrizzle(postgresJs(url))
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  return {
    db,
    pool,
    async [Symbol.asyncDispose]() {
      await db.$client.end()
      await pool.end()
    },
  }
}

/** Migrates the agency's own tables. Drizzle takes no lock, so a second process that migrates would do the same: it waits here. */
export async function migrateDatabase(url: string): Promise<void> {
  const client = postgresJs(url, { max: 1, onnotice: () => {} })
  try {
    await client`select pg_advisory_lock(20261127)`
    await migrate(drizzle({ client }), { migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)) })
  } finally {
    // The lock ends with its connection.
    await client.end()
  }
}
