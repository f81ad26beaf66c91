import '@outlay/core/node-version'
import type { Pool } from 'pg'
import type { Sql, TransactionSql } from 'postgres'
import type { Driver } from '../database/driver.ts'
import { type DriverParts, isPostgresJs, poolPart } from './driver-options.ts'
import { type PgDriverOptions, partsDriver } from './pool.ts'
import { openOwnTransactions } from './postgres-js/own-transactions.ts'
import { openExecute } from './postgres-js/statements.ts'

/** What {@link postgresJsDriver} works on. */
export interface PostgresJsDriverOptions<Types extends Record<string, unknown>> extends PgDriverOptions {
  readonly sql: Sql<Types>
  /** A pool of node-postgres to the same database, for background work and LISTEN. */
  readonly pool: Pool
}

const made: DriverParts = {
  call: 'postgresJsDriver({ sql, pool })',
  parts: { sql: { is: isPostgresJs, what: 'an instance of postgres.js, such as postgres(url)' }, pool: poolPart },
}

/**
 * A driver on postgres.js. The transaction is the one that `sql.begin` gives, savepoints included. The driver changes neither `sql` nor its
 * transactions, and the host's types and its transforms of columns and values do not touch the engine's statements.
 *
 * Subscription handlers get a transaction of postgres.js with the settings of `sql`, on connections of the driver's own.
 *
 * @throws OutlayError `invalid_request` for a transform of rows, or one of columns that has no reverse
 * @example
 * const sql = postgresJs(url)
 * const engine = createEngine({ backend: postgres({ driver: postgresJsDriver({ sql, pool }) }), gateway })
 */
export function postgresJsDriver<Types extends Record<string, unknown>>(
  options: PostgresJsDriverOptions<Types>,
): Driver<TransactionSql<Types>> {
  const background = partsDriver(options, made)
  const sql = options.sql as unknown as Sql
  const execute = openExecute(sql)
  const { begin, onError } = openOwnTransactions(sql, background)
  return {
    ...background,
    name: 'postgres.js',
    execute,
    transaction: (work) => begin((tx) => work(tx as unknown as TransactionSql<Types>)),
    onError,
  }
}
