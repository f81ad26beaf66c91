import { Client, type Pool, type PoolClient, type QueryConfig } from 'pg'
import type { Driver, Listener, ListenOptions, SqlSession } from '../database/driver.ts'
import { isLeftOpen } from '../database/open-transaction.ts'
import type { Row, Statement } from '../database/statement.ts'
import { checkDriverOptions, checkPart, type DriverParts, type PgDriverOptions, poolPart } from './driver-options.ts'

export type { PgDriverOptions }

/** What a driver does outside the host's transactions. */
export type PoolDriver = Pick<Driver<never>, 'maxConnections' | 'query' | 'run' | 'session' | 'listen' | 'onError'>

/** A statement for a client of node-postgres, named where the host allows it. */
export const bind = ({ name, text }: Statement, values: readonly unknown[], options: PgDriverOptions): QueryConfig => ({
  ...(options.prepared === false ? {} : { name }),
  text,
  values: [...values],
})

/** The part of a driver that works on a pool of node-postgres, for any library of the host's transactions. */
export function poolDriver(pool: Pool, options: PgDriverOptions = {}, call = 'pgDriver(pool)'): PoolDriver {
  checkDriverOptions(options, { call })
  checkPart(pool, 'pool', poolPart, call)
  return openPool(pool, options)
}

/** The same for a driver whose pool is one of the parts in its options. */
export function partsDriver(options: PgDriverOptions & { readonly pool: Pool }, made: DriverParts): PoolDriver {
  checkDriverOptions(options, made)
  return openPool(options.pool, options)
}

function openPool(pool: Pool, options: PgDriverOptions): PoolDriver {
  guardClients(pool)
  return {
    maxConnections: pool.options.max,
    async query(statement, values, onSent) {
      const result = await inPoolSession(pool, (client) => {
        onSent?.()
        return client.query(bind(statement, values, options))
      })
      return result.rows as Row[]
    },
    run: (text, values) => inPoolSession(pool, (session) => runOn(session, text, values)),
    session: (work) => inPoolSession(pool, work),
    listen: (listen) => listenBeside(pool, listen),
    onError: (listener) => onPoolError(pool, listener),
  }
}

const guarded = new WeakSet<Pool | PoolClient>()

/**
 * Keeps an error of a checked-out client from ending the process. A server that goes down can fail the client between the pool
 * and the caller, where no listener is attached: the end of its last query and of its session may arrive together. The caller
 * gets the failure from its next query. This covers clients that were opened earlier, too.
 */
function guardClients(pool: Pool): void {
  if (guarded.has(pool)) return
  guarded.add(pool)
  pool.on('acquire', (client) => {
    if (guarded.has(client)) return
    guarded.add(client)
    client.on('error', () => undefined)
  })
}

/** Listens for errors of the pool's idle clients. */
function onPoolError(pool: Pool, listener: (error: Error) => void): () => void {
  pool.on('error', listener)
  return () => void pool.off('error', listener)
}

/** Runs SQL text of any number of statements; the rows are those of the last one. */
export async function runOn(on: SqlSession, text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }> {
  const result: unknown = await on.query(text, values === undefined ? undefined : [...values])
  const last = (Array.isArray(result) ? result.at(-1) : result) as { readonly rows?: Row[] } | undefined
  return { rows: last?.rows ?? [] }
}

/**
 * Checks out a client of the pool. One that the host has returned in an open transaction is closed: what the engine wrote on it would
 * be committed or lost with what the host has left there, such as after a `begin` that was sent to the pool itself.
 */
export async function connectOutside(pool: Pool): Promise<PoolClient> {
  for (;;) {
    const client = await pool.connect()
    if (!(await isLeftOpen(client))) return client
    client.release(new Error('This client was returned to the pool in an open transaction.'))
  }
}

/** Runs `work` on one client of the pool, outside a transaction. After an error the client's state is unknown, so it is closed. */
async function inPoolSession<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await connectOutside(pool)
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    return await work(client)
  } catch (error) {
    broken ??= error instanceof Error ? error : new Error(String(error))
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}

/** Opens a client beside the pool, with the pool's settings, that listens on a channel. */
export async function listenBeside(pool: Pool, options: ListenOptions, Class = Client): Promise<Listener> {
  const client = new Class(pool.options)
  // A connection that fails to open is reported by the rejection alone, or the caller would open two in its place.
  let open = false
  const lose = (error: Error) => {
    if (!open) return
    open = false
    options.onLost(error)
    void client.end().catch(() => undefined)
  }
  client.on('error', lose)
  client.on('end', () => lose(new Error('The listening connection ended.')))
  client.on('notification', options.onNotification)
  try {
    await client.connect()
    await client.query(`listen "${options.channel}"`)
  } catch (error) {
    void client.end().catch(() => undefined)
    throw error
  }
  open = true
  return {
    async close() {
      open = false
      await client.end()
    },
  }
}
