import '@outlay/core/node-version'
import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import type { Pool } from 'pg'
import type { Driver } from '../database/driver.ts'
import { probeTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { type DriverParts, hasMethods, poolPart } from './driver-options.ts'
import { checkedOutClients, runInTransaction } from './kysely-clients.ts'
import { type PgDriverOptions, partsDriver } from './pool.ts'

/** What {@link kyselyDriver} works on. */
export interface KyselyDriverOptions<Database> extends PgDriverOptions {
  readonly db: Kysely<Database>
  /** The pool that `db` was made with: Kysely does not expose it, and background work and LISTEN need it. */
  readonly pool: Pool
}

const made: DriverParts = {
  call: 'kyselyDriver({ db, pool })',
  parts: {
    db: {
      is: (given) => hasMethods(given, 'transaction', 'getExecutor', 'withoutPlugins'),
      what: 'an instance of Kysely, such as new Kysely({ dialect: new PostgresDialect({ pool }) })',
    },
    pool: poolPart,
  },
}

/**
 * A driver on Kysely over node-postgres. The transaction is the one that `db.transaction().execute` gives, or a controlled
 * one; plugins of the host do not touch the statements of the engine.
 *
 * @example
 * const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
 * const engine = createEngine({ backend: postgres({ driver: kyselyDriver({ db, pool }) }), gateway })
 */
export function kyselyDriver<Database>(options: KyselyDriverOptions<Database>): Driver<Transaction<Database>> {
  const background = partsDriver(options, made)
  const clients = checkedOutClients(options.pool)
  return {
    ...background,
    name: 'kysely',
    async execute(tx, statement, values) {
      if (!tx.isTransaction) await probeTransaction((probe) => tx.executeQuery(CompiledQuery.raw(probe)))
      // A plugin that renames columns would rename those of the engine too.
      const executor = tx.withoutPlugins().getExecutor()
      const query = CompiledQuery.raw(statement.text, [...values])
      const { rows } = await executor.provideConnection((connection) => runInTransaction(connection, query, clients))
      return rows as Row[]
    },
    transaction: (work) => options.db.transaction().execute(work),
  }
}
