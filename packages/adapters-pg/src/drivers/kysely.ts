import { CompiledQuery, type DatabaseConnection, type Kysely, type Transaction } from 'kysely'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import type { Driver } from '../database/driver.ts'
import { probeTransaction, queryInTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { type PgDriverOptions, poolDriver } from './pool.ts'

/** What {@link kyselyDriver} works on. */
export interface KyselyDriverOptions<Database> extends PgDriverOptions {
  readonly db: Kysely<Database>
  /** The pool that `db` was made with: Kysely does not expose it, and background work and LISTEN need it. */
  readonly pool: Pool
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
  const background = poolDriver(options.pool, options, ['db', 'pool'])
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

const clientsOf = new WeakMap<Pool, ReadonlySet<PoolClient>>()

/** The clients of a pool that are checked out: one of them is under a connection of Kysely, which keeps it to itself. */
function checkedOutClients(pool: Pool): ReadonlySet<PoolClient> {
  const known = clientsOf.get(pool)
  if (known !== undefined) return known
  // A transaction may be older than the driver, so its client was checked out unseen; an idle one more does no harm.
  const clients = new Set((pool as { readonly _clients?: readonly PoolClient[] })._clients)
  clientsOf.set(pool, clients)
  pool.on('acquire', (client) => void clients.add(client))
  pool.on('release', (_, client) => void clients.delete(client))
  pool.on('remove', (client) => void clients.delete(client))
  return clients
}

/**
 * Runs a query on a connection of Kysely, which hands it to its client at once: for that moment, `query` of the clients is one
 * that sends it in a transaction only. Kysely itself would send it behind its own `rollback`.
 */
function runInTransaction(connection: DatabaseConnection, query: CompiledQuery, clients: ReadonlySet<PoolClient>) {
  const restores = [...clients].map((client) => {
    const own = Object.getOwnPropertyDescriptor(client, 'query')
    const value = (text: string, values: QueryConfig['values']) => {
      restore()
      return queryInTransaction(client, { text, values: [...(values ?? [])] })
    }
    const restore = () => {
      if (own === undefined) Reflect.deleteProperty(client, 'query')
      else Object.defineProperty(client, 'query', own)
    }
    Object.defineProperty(client, 'query', { configurable: true, writable: true, value })
    return restore
  })
  try {
    return connection.executeQuery<Row>(query)
  } finally {
    for (const restore of restores) restore()
  }
}
