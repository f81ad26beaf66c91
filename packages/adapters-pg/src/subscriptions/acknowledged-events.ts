import type { TransferEvent } from '@outlay/core'

/** Most events that are kept: more than one transaction of each loop acknowledges. */
const mostKept = 20_000

/**
 * The events whose acknowledgement was committed last, by what the library says. Postgres answers a `commit` with a rollback, and most
 * libraries say nothing of that, where a statement has failed that the handler did not wait for. Such an event would come
 * again at once, for ever.
 */
export interface AcknowledgedEvents {
  add(subscription: string, events: readonly TransferEvent[]): void
  /** True when one of them was acknowledged before. Forgets them. */
  forget(subscription: string, events: readonly TransferEvent[]): boolean
}

/** Makes the memory, empty. */
export function createAcknowledgedEvents(): AcknowledgedEvents {
  const kept = new Set<string>()
  const keyOf = (subscription: string, { id }: TransferEvent) => `${id} ${subscription}`
  return {
    add(subscription, events) {
      for (const event of events) kept.add(keyOf(subscription, event))
      for (const oldest of kept) {
        if (kept.size <= mostKept) return
        kept.delete(oldest)
      }
    },
    forget(subscription, events) {
      return events.filter((event) => kept.delete(keyOf(subscription, event))).length > 0
    },
  }
}
