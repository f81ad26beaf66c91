import { fileURLToPath } from 'node:url'
import pg from 'pg'
import postgresJs, { type Sql } from 'postgres'

/** A day of card payments, which is settled once. */
export interface Day {
  readonly id: string
  /** What the card schemes have paid us for it, in dollars. */
  readonly received: string
  /** Id of the batch that pays the merchants; null before. */
  readonly batch_id: string | null
  /** When all its payouts had ended. */
  readonly settled_at: Date | null
}

/** What one merchant gets for one day. */
export interface Settlement {
  readonly day_id: string
  readonly merchant_id: string
  readonly amount: string
  readonly status: 'on_its_way' | 'paid' | 'unpaid'
  readonly transfer_id: string
}

/** The acquirer's database: postgres.js for its own work, and a pool of node-postgres for the engine's workers. */
export interface Database extends AsyncDisposable {
  readonly sql: Sql
  readonly pool: pg.Pool
}

/** Opens both. */
export function openDatabase(url: string): Database {
  const sql = postgresJs(url)
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  return {
    sql,
    pool,
    async [Symbol.asyncDispose]() {
      await sql.end()
      await pool.end()
    },
  }
}

/** Makes the acquirer's own tables. */
export async function migrateDatabase({ sql }: Database): Promise<void> {
  await sql.file(fileURLToPath(new URL('../schema.sql', import.meta.url)))
}
