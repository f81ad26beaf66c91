import type { Logger } from '@outlay/core'

/** What the number of loops that run handlers depends on. */
export interface HandlerLoopsOptions {
  /** Connections that the driver opens at most; undefined when it does not say. */
  readonly maxConnections: number | undefined
  readonly subscriptions: number
  /** Loops of each subscription that the host asks for; undefined when it leaves that to the engine. */
  readonly wanted: number | undefined
  readonly logger: Logger
}

/** Loops of each subscription where the host does not say. */
const usual = 4

/** Connections that are left to everything else where there are enough: nothing else holds one for long. */
const mostLeft = 4

/**
 * How many loops each subscription has. A handler holds a connection for as long as it runs, so if all of them could hang at once
 * on all connections, nothing would be sent meanwhile.
 */
export function countHandlerLoops(options: HandlerLoopsOptions): number {
  const { maxConnections, subscriptions, wanted = usual, logger } = options
  if (maxConnections === undefined || subscriptions === 0) return wanted
  const left = Math.min(mostLeft, Math.floor(maxConnections / 2))
  const loops = Math.max(1, Math.min(wanted, Math.floor((maxConnections - left) / subscriptions)))
  if (loops < wanted) {
    const needed = subscriptions * wanted + mostLeft
    const fields = { maxConnections, subscriptions, subscriptionConcurrency: loops, wanted, needed }
    const fewer = 'The pool has too few connections for subscriptionConcurrency, so fewer events are handled at once.'
    if (subscriptions >= maxConnections)
      logger.warn(
        fields,
        'Handlers may take every connection of the pool, and nothing is sent while they do; give it more.',
      )
    else if (options.wanted === undefined) logger.info(fields, fewer)
    else logger.warn(fields, fewer)
  }
  return loops
}
