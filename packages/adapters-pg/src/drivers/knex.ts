import '@outlay/core/node-version'
import type { Knex } from 'knex'
import type { Client } from 'pg'
import type { Driver, Listener, ListenOptions } from '../database/driver.ts'
import { isLeftOpen, noTransaction, queryInTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { checkDriverOptions, checkPart, type DriverPart, hasMethods } from './driver-options.ts'
import { bind, type PgDriverOptions, runOn } from './pool.ts'

/** What Knex's own client offers to callers that need a connection of its pool. */
interface KnexClient {
  acquireConnection(): Promise<Client>
  releaseConnection(connection: Client): Promise<void>
  readonly pool?: { readonly max?: number | undefined } | undefined
}

const knexPart: DriverPart = {
  is: (given) => hasMethods((given as { readonly client?: unknown } | null | undefined)?.client, 'acquireConnection'),
  what: "an instance of Knex, such as knex({ client: 'pg', connection })",
}

/**
 * A driver on Knex with its client `pg`. The transaction is the one that `knex.transaction` gives, nested ones included.
 *
 * Statements go to the connection of the transaction itself, so that `postProcessResponse` and `wrapIdentifier` of the
 * host do not touch them. Listening uses one connection of Knex's pool for as long as the engine runs; with a pool of one, the
 * engine polls instead.
 *
 * @example
 * const db = knex({ client: 'pg', connection: url })
 * const engine = createEngine({ backend: postgres({ driver: knexDriver(db) }), gateway })
 */
export function knexDriver(knex: Knex, options: PgDriverOptions = {}): Driver<Knex.Transaction> {
  checkDriverOptions(options, { call: 'knexDriver(knex)' })
  checkPart(knex, 'knex', knexPart, 'knexDriver(knex)')
  const client: KnexClient = knex.client
  const max = client.pool?.max
  const inSession = async <T>(work: (connection: Client) => Promise<T>): Promise<T> => {
    const connection = await acquireOutside(client)
    try {
      return await work(connection)
    } catch (error) {
      // A text of several statements may have left a transaction open, and a session may have left any state.
      discard(connection, error)
      throw error
    } finally {
      await client.releaseConnection(connection)
    }
  }
  return {
    name: 'knex',
    // One of them listens.
    maxConnections: max === undefined ? undefined : Math.max(1, max - 1),
    async execute(tx, statement, values) {
      const connection = await clientOfKnex(tx)
      return (await queryInTransaction(connection, bind(statement, values, options))).rows as Row[]
    },
    transaction: (work) => knex.transaction(work),
    query: (statement, values, onSent) =>
      inSession(async (connection) => {
        onSent?.()
        return (await connection.query(bind(statement, values, options))).rows as Row[]
      }),
    run: (text, values) => inSession((connection) => runOn(connection, text, values)),
    session: inSession,
    // The only connection may not be kept: the host and the engine would wait for it for ever. Without it, workers poll.
    ...(max === 1 ? {} : { listen: (listen: ListenOptions) => listenInPool(client, listen) }),
    // Knex handles the errors of its idle connections and replaces them.
    onError: () => () => undefined,
  }
}

/** The connection of a transaction of Knex. */
export async function clientOfKnex(tx: Knex.Transaction): Promise<Client> {
  if (typeof tx.isCompleted !== 'function') throw noTransaction('is no transaction of Knex')
  // By now another caller may have the connection.
  if (tx.isCompleted()) throw noTransaction('is a transaction of Knex that has ended')
  return (tx.client as KnexClient).acquireConnection()
}

/** Acquires a connection. One that the host has left in an open transaction is closed, as in `pool.ts`. */
async function acquireOutside(client: KnexClient): Promise<Client> {
  for (;;) {
    const connection = await client.acquireConnection()
    if (!(await isLeftOpen(connection))) return connection
    discard(connection, new Error('This connection was returned to the pool in an open transaction.'))
    await client.releaseConnection(connection)
  }
}

/**
 * Closes a connection, so that the server forgets what was left on it. Knex replaces a connection with this mark.
 */
function discard(connection: Client & { __knex__disposed?: unknown }, reason: unknown): void {
  connection.__knex__disposed = reason
  void connection.end().catch(() => undefined)
}

/** Keeps one connection of Knex's pool to listen on a channel. */
async function listenInPool(client: KnexClient, options: ListenOptions): Promise<Listener> {
  const connection = await client.acquireConnection()
  // A connection that fails to listen is reported by the rejection alone, or the caller would open two in its place.
  let open = false
  const release = async () => {
    open = false
    connection.off('error', lose).off('end', end).off('notification', options.onNotification)
    await client.releaseConnection(connection)
  }
  const lose = (error: Error) => {
    if (!open) return
    discard(connection, error)
    void release()
    options.onLost(error)
  }
  const end = () => lose(new Error('The listening connection ended.'))
  connection.on('error', lose).on('end', end).on('notification', options.onNotification)
  try {
    await connection.query(`listen "${options.channel}"`)
  } catch (error) {
    discard(connection, error)
    await release()
    throw error
  }
  open = true
  return {
    async close() {
      if (!open) return
      open = false
      await connection.query(`unlisten "${options.channel}"`).catch((error: unknown) => discard(connection, error))
      await release()
    },
  }
}
