import { type Logger, OutlayError } from '@outlay/core'
import type { Pool } from 'pg'
import { createPlaces, type Places } from './places.ts'
import type { Reader } from './reader.ts'

/** Statements and transactions that wait for others to end: of one client, and of all together. */
const mostWaiting = { ofClient: 5_000, ofAll: 10_000 }

/** How long a write waits for the share of its client, in milliseconds. */
export const shareWaitMs = 10_000

/** The places of a pool's clients. */
interface Share {
  readonly places: Places
  /** Clients that are refused now, each of which the log has named. */
  readonly refused: Set<string>
}

const shares = new WeakMap<Pool, Share>()

/** Where work of clients runs. */
export interface SharedPool {
  readonly pool: Pool
  readonly logger?: Logger | undefined
}

/** How long work waits for its client's share. */
export interface ShareWait {
  /** In milliseconds. */
  readonly limitMs: number
  /** Who waits for a read. It leaves the queue when its reader has gone. Not for a write: what it belongs to may have begun. */
  readonly reader?: Reader | undefined
}

/**
 * Does a read or a transaction of a client on one of the pool's connections. One client has at most half of them at once, so that however much it
 * asks for, others find a connection, and all clients together have as many works under way as there are connections: the others wait here, where
 * clients take turns. Do not call it inside of other work of the client, which has a place already: all of them could wait for each other.
 *
 * @throws OutlayError `service_unavailable` when it has waited so long, and at once when too many wait; `aborted` when its reader has gone.
 *   {@link isShareRefusal} knows them from others. The log says once that a client is refused, until one of its works finds a free place again.
 */
export async function withinShare<T>(
  { pool, logger }: SharedPool,
  clientId: string,
  { limitMs, reader }: ShareWait,
  work: () => Promise<T>,
): Promise<T> {
  const { places, refused } = shareOf(pool)
  const gone = reader?.signal
  const isGone = () => gone?.aborted === true
  if (isGone()) throw goneError()
  const waiting = new AbortController()
  let hasBegun = false
  const done = places.enter(clientId, waiting.signal, () => {
    hasBegun = true
    return work()
  })
  // Without a wait.
  if (hasBegun) {
    refused.delete(clientId)
    return await done
  }
  const timer = setTimeout(() => waiting.abort(), limitMs)
  const leave = () => waiting.abort()
  gone?.addEventListener('abort', leave, { once: true })
  try {
    return await done
  } catch (error) {
    if (hasBegun) throw error
    if (isGone()) throw goneError()
    if (!refused.has(clientId)) {
      refused.add(clientId)
      logger?.warn({ clientId }, refusedMessage)
    }
    const message = 'Too many requests wait for the database. Send fewer at once, and this one again.'
    throw new OutlayError('service_unavailable', message, { retryAfterMs: 1_000, cause: new ShareTakenError() })
  } finally {
    clearTimeout(timer)
    gone?.removeEventListener('abort', leave)
  }
}

const goneError = () => new OutlayError('aborted', 'Nobody waits for the answer.', { cause: new ShareTakenError() })

const refusedMessage =
  'A client sends more at once than its share of the database does; those of its requests that wait too long, or are too many, are answered with 503.'

/** True for work that got no place: no error of the service, and the log has it. */
export const isShareRefusal = (error: unknown): boolean =>
  OutlayError.is(error) && error.cause instanceof ShareTakenError

/** The share of a client is taken by its other requests, or its work has left. */
class ShareTakenError extends Error {
  override readonly name = 'ShareTakenError'

  constructor() {
    super('The share of the client is taken.')
  }
}

function shareOf(pool: Pool): Share {
  const known = shares.get(pool)
  if (known !== undefined) return known
  const most = pool.options?.max ?? 10
  const limits = { most, mostOfParty: Math.ceil(most / 2) }
  const waits = { mostWaiting: mostWaiting.ofAll, mostWaitingOfParty: mostWaiting.ofClient }
  const share = { places: createPlaces({ ...limits, ...waits }), refused: new Set<string>() }
  shares.set(pool, share)
  return share
}
