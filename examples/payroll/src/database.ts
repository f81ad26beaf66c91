import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import * as schema from './schema.ts'

/** The application's database, and the transaction that `db.transaction` gives. */
export type Database = ReturnType<typeof openDatabase>
export type Transaction = Parameters<Parameters<Database['transaction']>[0]>[0]

/** Opens a pool on a connection string, or with settings of node-postgres; `db.$client.end()` closes it. */
export function openDatabase(at: string | pg.PoolConfig) {
  const pool = new pg.Pool({ max: 20, ...(typeof at === 'string' ? { connectionString: at } : at) })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  return drizzle({ client: pool, schema })
}

/** The lock of those who migrate, by a number that the application uses for nothing else. */
export const migrationLock = 20_260_105

/**
 * Migrates the application's own tables. Drizzle takes no lock, so two that migrate at once would both find the same migrations missing: the
 * second one waits here for the first, for two minutes at most.
 */
export async function migrateDatabase(db: Database): Promise<void> {
  const client = await db.$client.connect()
  try {
    await client.query(`set lock_timeout = '2min'; select pg_advisory_lock(${migrationLock}); reset lock_timeout`)
    await migrate(drizzle({ client }), { migrationsFolder: fileURLToPath(new URL('../drizzle', import.meta.url)) })
  } finally {
    // Closed, so that it keeps neither the lock nor its settings.
    client.release(true)
  }
}
