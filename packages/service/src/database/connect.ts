import { connectOutside } from '@outlay/adapters-pg'
import type { Pool, PoolClient } from 'pg'

/** How long work waits for a connection where the pool does not say, in milliseconds. */
const defaultConnectMs = 10_000

/**
 * Checks out a client of the pool, and waits for it as long as the pool's `connectionTimeoutMillis` says, by default ten seconds: node-postgres
 * would wait for ever for a server that takes connections and never answers. A client that comes later goes back to the pool.
 * @throws Error as node-postgres does at its own limit.
 */
export async function connectWithin(
  pool: Pool,
  limitMs: number = pool.options?.connectionTimeoutMillis || defaultConnectMs,
): Promise<PoolClient> {
  const late = Promise.withResolvers<never>()
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    // The text by which node-postgres says it.
    late.reject(new Error('timeout exceeded when trying to connect'))
  }, limitMs)
  const connecting = connectOutside(pool).then((client) => {
    if (isLate) client.release()
    return client
  })
  try {
    return await Promise.race([connecting, late.promise])
  } finally {
    clearTimeout(timer)
    connecting.catch(() => undefined)
  }
}
