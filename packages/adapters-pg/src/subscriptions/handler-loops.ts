import type { Logger } from '@outlay/core'

/** What the number of loops that run handlers depends on. */
export interface HandlerLoopsOptions {
  /** Connections that the driver opens at most; undefined when it does not say. */
  readonly maxConnections: number | undefined
  readonly subscriptions: number
  /** Loops of each subscription that the host asks for. */
  readonly wanted: number
  readonly logger: Logger
}

/** Connections that are left to everything else where there are enough: nothing else holds one for long. */
const mostLeft = 4

/**
 * How many loops each subscription has. A handler holds a connection for as long as it runs, so if all of them could hang at once
 * on all connections, nothing would be sent meanwhile.
 */
export function countHandlerLoops({ maxConnections, subscriptions, wanted, logger }: HandlerLoopsOptions): number {
  if (maxConnections === undefined || subscriptions === 0) return wanted
  const left = Math.min(mostLeft, Math.floor(maxConnections / 2))
  const loops = Math.max(1, Math.min(wanted, Math.floor((maxConnections - left) / subscriptions)))
  if (loops < wanted) {
    const needed = subscriptions * wanted + mostLeft
    const message =
      subscriptions >= maxConnections
        ? 'Handlers may take every connection of the pool, and nothing is sent while they do; give it more.'
        : 'The pool has too few connections for subscriptionConcurrency, so fewer events are handled at once.'
    logger.warn({ maxConnections, subscriptions, subscriptionConcurrency: loops, wanted, needed }, message)
  }
  return loops
}
