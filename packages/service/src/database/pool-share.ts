import { type Logger, OutlayError } from '@outlay/core'
import type { Pool } from 'pg'
import { type Bulkhead, createBulkhead } from '../bulkhead.ts'

/** Statements and transactions of one client that wait for others of the same client to end. */
const mostWaiting = 5_000

/** How long a write waits for the share of its client, in milliseconds. */
export const shareWaitMs = 10_000

/** The places of a pool's clients. */
interface Share {
  readonly places: Bulkhead
  /** Clients that are refused now, each of which the log has named. */
  readonly refused: Set<string>
}

const shares = new WeakMap<Pool, Share>()

/** Where work of clients runs. */
export interface SharedPool {
  readonly pool: Pool
  readonly logger?: Logger | undefined
}

/**
 * Does a read or a transaction of a client on one of the pool's connections. One client has at most half of them at once, so that however much it
 * asks for, others find a connection. `limitMs` is how long the work waits for its client's share. Do not call it inside of other work of the client,
 * which has a place already: all of them could wait for each other.
 *
 * @throws OutlayError `service_unavailable` when it has waited so long, and at once when too many wait. {@link isShareRefusal} knows it from
 *   others. The log says once that a client is refused, until one of its works finds a free place again.
 */
export async function withinShare<T>(
  { pool, logger }: SharedPool,
  clientId: string,
  limitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  const { places, refused } = shareOf(pool)
  const waiting = new AbortController()
  const timer = setTimeout(() => waiting.abort(), limitMs)
  let hasBegun = false
  try {
    const done = places.enter(clientId, waiting.signal, () => {
      hasBegun = true
      // Work that has begun ends by its own limit.
      clearTimeout(timer)
      return work()
    })
    // Without a wait.
    if (hasBegun) refused.delete(clientId)
    return await done
  } catch (error) {
    if (hasBegun) throw error
    if (!refused.has(clientId)) {
      refused.add(clientId)
      logger?.warn({ clientId }, refusedMessage)
    }
    const message = 'Too many requests of this client wait for the database. Send fewer at once, and this one again.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 1_000, cause: new ShareTakenError() })
  } finally {
    clearTimeout(timer)
  }
}

const refusedMessage =
  'A client sends more at once than its share of the database does; those of its requests that wait too long are answered with 503.'

/** True for the refusal of work that got no place: no error of the service, and the log has it. */
export const isShareRefusal = (error: unknown): boolean =>
  OutlayError.is(error) && error.cause instanceof ShareTakenError

/** The share of a client is taken by its other requests. */
class ShareTakenError extends Error {
  override readonly name = 'ShareTakenError'

  constructor() {
    super('The share of the client is taken.')
  }
}

function shareOf(pool: Pool): Share {
  const mostCalls = Math.ceil((pool.options?.max ?? 10) / 2)
  const known = shares.get(pool) ?? { places: createBulkhead({ mostCalls, mostWaiting }), refused: new Set() }
  shares.set(pool, known)
  return known
}
