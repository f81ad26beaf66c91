import '@outlay/core/node-version'
import type { PostgresJsDatabase, PostgresJsSession, PostgresJsTransaction } from 'drizzle-orm/postgres-js'
import type { ExtractTablesWithRelations } from 'drizzle-orm/relations'
import type { Pool } from 'pg'
import type { Sql } from 'postgres'
import type { Driver } from '../database/driver.ts'
import { type DriverParts, hasMethods, isPostgresJs, poolPart } from './driver-options.ts'
import { type PgDriverOptions, partsDriver } from './pool.ts'
import { openOwnTransactions } from './postgres-js/own-transactions.ts'
import { openExecute } from './postgres-js/statements.ts'

/** The transaction that Drizzle over postgres.js hands to `db.transaction(async (tx) => …)`. */
export type DrizzlePostgresJsTransaction<Schema extends Record<string, unknown>> = PostgresJsTransaction<
  Schema,
  ExtractTablesWithRelations<Schema>
>

/** What {@link drizzlePostgresJsDriver} works on. */
export interface DrizzlePostgresJsDriverOptions<Schema extends Record<string, unknown>> extends PgDriverOptions {
  readonly db: PostgresJsDatabase<Schema> & { readonly $client: Sql }
  /** A pool of node-postgres to the same database, for background work and LISTEN. */
  readonly pool: Pool
}

/** What the driver uses of a handle of Drizzle: its session, and the instance or the transaction of postgres.js in that. */
interface Handle<Schema extends Record<string, unknown>> {
  readonly session?: PostgresJsSession<Sql, Schema, ExtractTablesWithRelations<Schema>>
}

const made: DriverParts = {
  call: 'drizzlePostgresJsDriver({ db, pool })',
  parts: {
    db: {
      is: (given) =>
        hasMethods(given, 'transaction') && isPostgresJs((given as { readonly $client?: unknown }).$client),
      what: 'Drizzle over postgres.js, such as drizzle({ client: sql }) of drizzle-orm/postgres-js',
    },
    pool: poolPart,
  },
}

/**
 * A driver on Drizzle over postgres.js. The transaction is the one that `db.transaction` gives; all else is as with `postgresJsDriver`.
 * Drizzle's logger does not see the engine's statements.
 *
 * @throws OutlayError `invalid_request` for a transform of rows, or one of columns that has no reverse
 * @example
 * const db = drizzle({ client: postgresJs(url), schema })
 * const engine = createEngine({ backend: postgres({ driver: drizzlePostgresJsDriver({ db, pool }) }), gateway })
 */
export function drizzlePostgresJsDriver<Schema extends Record<string, unknown>>(
  options: DrizzlePostgresJsDriverOptions<Schema>,
): Driver<DrizzlePostgresJsTransaction<Schema>> {
  const background = partsDriver(options, made)
  const { db } = options
  const execute = openExecute(db.$client)
  const { begin, onError } = openOwnTransactions(db.$client, background)
  const { session } = db as unknown as Required<Handle<Schema>>
  // The host's session, with its schema and its logger, on connections of the driver's own.
  const own: typeof session = Object.create(session, { client: { value: { begin } } })
  return {
    ...background,
    name: 'drizzle over postgres.js',
    execute: (tx, statement, values) =>
      execute((tx as unknown as Handle<Schema> | undefined)?.session?.client, statement, values),
    transaction: (work) => own.transaction(work),
    onError,
  }
}
