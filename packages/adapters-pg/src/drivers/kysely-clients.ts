import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import { queryInTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'

const clientsOf = new WeakMap<Pool, ReadonlySet<PoolClient>>()

/** The clients of a pool that are checked out: one of them is under a connection of Kysely, which keeps it to itself. */
export function checkedOutClients(pool: Pool): ReadonlySet<PoolClient> {
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
export function runInTransaction(
  connection: DatabaseConnection,
  query: CompiledQuery,
  clients: ReadonlySet<PoolClient>,
  types?: QueryConfig['types'],
): Promise<QueryResult<Row>> {
  const restores = [...clients].map((client) => {
    const own = Object.getOwnPropertyDescriptor(client, 'query')
    const value = (text: string, values: QueryConfig['values']) => {
      restore()
      return queryInTransaction(client, {
        text,
        values: [...(values ?? [])],
        ...(types === undefined ? {} : { types }),
      })
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
