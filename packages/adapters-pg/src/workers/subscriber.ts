import type { Logger, Subscription } from '@outlay/core'
import type { SubscriptionStore } from '../subscriptions.ts'
import { type Loop, startLoop } from './loop.ts'

/** What the loops of one subscription work with. */
export interface SubscriberOptions<Tx> {
  readonly store: SubscriptionStore<Tx>
  readonly subscription: Subscription<Tx>
  readonly logger: Logger
  /** Events being handled at once. */
  readonly concurrency: number
  readonly pollIntervalMs: number
  /** Adds the trace contexts to events. */
  readonly traced?: boolean | undefined
}

/** How long a loop that helps out waits to be woken, in milliseconds. */
const restMs = 60_000

/**
 * Starts the loops that hand events to one subscription. The first one looks for events; one that finds as many as it can
 * take wakes the next, so that few events cost few looks.
 */
export function startSubscriber<Tx>(options: SubscriberOptions<Tx>): Loop {
  const loops: Loop[] = []
  for (let index = 0; index < options.concurrency; index += 1) {
    loops.push(startOne(options, index, () => loops[index + 1]?.wake()))
  }
  return {
    wake: () => loops[0]?.wake(),
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

function startOne<Tx>(options: SubscriberOptions<Tx>, index: number, wakeNext: () => void): Loop {
  const { store, subscription, logger } = options
  // After a failed batch its events go one by one, so that only the one that fails is put off.
  let singly = 0
  return startLoop({
    name: `subscription ${subscription.name} ${index}`,
    logger,
    async turn() {
      const limit = singly > 0 ? 1 : subscription.batchSize
      const onTaken = (taken: number) => {
        if (taken === limit) wakeNext()
      }
      const outcome = await store.deliver(subscription, limit, onTaken, options.traced)
      if (outcome.kind === 'none') {
        singly = 0
        return index === 0 ? options.pollIntervalMs : restMs
      }
      singly = Math.max(0, singly - 1)
      if (outcome.kind === 'handled') return 0
      if (outcome.count > 1) {
        singly = outcome.count
        return 0
      }
      const { dead } = await store.fail(subscription.name, outcome.event, outcome.error)
      const error = outcome.error instanceof Error ? outcome.error.message : String(outcome.error)
      const fields = { subscription: subscription.name, event: outcome.event.id, error }
      if (dead) logger.error(fields, 'A handler failed too often; the event is a dead letter now.')
      else logger.warn(fields, 'A handler failed; the event is handled again later.')
      return 0
    },
  })
}
