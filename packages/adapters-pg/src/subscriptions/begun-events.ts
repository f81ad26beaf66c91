import type { Logger } from '@outlay/core'
import type { Subscription } from '@outlay/core/adapter'
import type { SubscriptionStore } from './subscriptions.ts'

/** How long after its start a process commits that it begins with events before their handler runs, in milliseconds. */
const cautiousMs = 5_000

/**
 * A handler that ends its process rolls back whatever counts its failure, and a supervisor that starts the process again would
 * let it run into the same event for ever, before those of all other accounts. So a process that has just started, and every process for
 * an event that has failed, commits first that it begins. What is still begun at the next start counts as failed, and is deferred.
 */
export interface BegunEvents {
  /** True while every event has to be committed as begun before its handler runs. */
  isCautious(): boolean
  /** Counts events as failed that earlier processes began and did not end; once in this process. */
  recover(): Promise<void>
}

/** Makes the begun events of one subscription in this process. */
export function createBegunEvents<Tx>(
  store: Pick<SubscriptionStore<Tx>, 'failBegun'>,
  { name }: Pick<Subscription<Tx>, 'name'>,
  { logger, onEnded }: { readonly logger: Logger; readonly onEnded: (accountId: string) => void },
): BegunEvents {
  const startedAt = performance.now()
  let recovering: Promise<void> | undefined
  const failBegun = async () => {
    for (const [accountId, events] of await store.failBegun(name)) {
      onEnded(accountId)
      const message = 'A process ended while it handled events; the worker delivers them again later, and others first.'
      logger.warn({ subscription: name, accountId, events }, message)
    }
  }
  return {
    isCautious: () => performance.now() - startedAt < cautiousMs,
    async recover() {
      recovering ??= failBegun().catch((error: unknown) => {
        recovering = undefined
        throw error
      })
      await recovering
    },
  }
}
