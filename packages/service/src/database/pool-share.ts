import { OutlayError } from '@outlay/core'
import type { Pool } from 'pg'
import { type Bulkhead, createBulkhead } from '../bulkhead.ts'

/** Reads of one client that wait for others of the same client to end. */
const mostWaiting = 5_000

const shares = new WeakMap<Pool, Bulkhead>()

/**
 * Does a read of a client on one of the pool's connections. One client has at most half of them for reads at once, so that however much it
 * asks for, others find a connection. `limitMs` is how long a read waits for its client's share.
 *
 * @throws OutlayError `service_unavailable` when it has waited so long, and at once when too many wait.
 */
export async function withinShare<T>(
  pool: Pool,
  clientId: string,
  limitMs: number,
  read: () => Promise<T>,
): Promise<T> {
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort(), limitMs)
  let hasBegun = false
  try {
    return await shareOf(pool).enter(clientId, waiting.signal, () => {
      hasBegun = true
      // A read that has begun ends by its own limit.
      clearTimeout(timer)
      return read()
    })
  } catch (error) {
    if (hasBegun) throw error
    const message = 'Too many reads of this client wait for the database. Send fewer at once, and this one again.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 1_000, cause: error })
  } finally {
    clearTimeout(timer)
  }
}

function shareOf(pool: Pool): Bulkhead {
  const known = shares.get(pool) ?? createBulkhead({ mostCalls: Math.ceil((pool.options?.max ?? 10) / 2), mostWaiting })
  shares.set(pool, known)
  return known
}
