import type { DriverSubject } from '@outlay/testing/conformance'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgresJs, { type Options, type PostgresType, type Sql, type TransactionSql } from 'postgres'
import { postgres } from '../src/backend.ts'
import { type DrizzlePostgresJsTransaction, drizzlePostgresJsDriver } from '../src/drivers/drizzle-postgres-js.ts'
import { postgresJsDriver } from '../src/drivers/postgres-js.ts'

/** Settings of a host's instance. */
export type SqlOptions = Options<Record<string, PostgresType>>

/** Opens an instance of postgres.js that prints no notices. */
export const openSql = (url: string, options: SqlOptions = {}): Sql =>
  postgresJs(url, { max: 30, onnotice: () => undefined, ...options }) as Sql

/** Opens postgres.js with its driver. */
export function openPostgresJs(url: string, options?: SqlOptions): DriverSubject<TransactionSql> {
  const sql = openSql(url, options)
  const pool = new pg.Pool({ connectionString: url, max: 30 })
  return {
    backend: postgres({ driver: postgresJsDriver({ sql, pool }) }),
    transaction: async (work) => (await sql.begin(async (tx) => ({ result: await work(tx) }))).result,
    nested: async (tx, work) => (await tx.savepoint(async (inner) => ({ result: await work(inner) }))).result,
    insertNote: (tx, id, body) => tx`insert into note ${tx({ id, body })}`,
    close: () => Promise.all([sql.end(), pool.end()]),
  }
}

const notes = pgTable('note', { id: text().primaryKey(), body: text() })
const schema = { notes }

/** Opens Drizzle over postgres.js with its driver. */
export function openDrizzlePostgresJs(url: string): DriverSubject<DrizzlePostgresJsTransaction<typeof schema>> {
  const sql = openSql(url)
  const pool = new pg.Pool({ connectionString: url, max: 30 })
  const db = drizzle({ client: sql, schema })
  return {
    backend: postgres({ driver: drizzlePostgresJsDriver({ db, pool }) }),
    transaction: (work) => db.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    insertNote: (tx, id, body) => tx.insert(notes).values({ id, body }),
    close: () => Promise.all([sql.end(), pool.end()]),
  }
}
