import type { Pool, PoolClient } from 'pg'
import { checkedOutClients } from './kysely-clients.ts'

const watchedPools = new WeakSet<Pool>()

/**
 * Frees the place of a client whose connection ends while it is checked out. A library that releases a client only after a `commit` or
 * a `rollback` that succeeds would keep it for good, until nothing can connect any more.
 */
export function releaseEndedClients(pool: Pool): void {
  if (watchedPools.has(pool)) return
  watchedPools.add(pool)
  const clients = checkedOutClients(pool)
  const watched = new WeakSet<PoolClient>()
  const watch = (client: PoolClient) => {
    if (watched.has(client)) return
    watched.add(client)
    client.once('end', () => {
      if (clients.has(client)) releaseEnded(client)
    })
  }
  for (const client of clients) watch(client)
  pool.on('acquire', watch)
}

/** Whoever has the client may still release it. */
function releaseEnded(client: PoolClient): void {
  const { release } = client
  client.release = () => undefined
  try {
    release.call(client, new Error('The connection has ended.'))
  } catch {
    // The pool has it back already, and has closed it by itself.
  }
}
