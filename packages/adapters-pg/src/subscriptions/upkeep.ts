import type { Subscription } from '@outlay/core/adapter'
import { behind, front } from './next-deliveries.ts'
import type { SubscriptionStore } from './subscriptions.ts'

/** Longest time in which deferred events become ready, in milliseconds. */
const readyPauseMs = 250

/** Pause between two searches for ready events that are behind earlier ones, and between two walks behind locked ones, in milliseconds. */
const searchPauseMs = 1_000

/** What keeps the ready events of one subscription and process those that can be handled. */
export interface Upkeep {
  /** Makes events ready whose time has come, and defers those behind earlier ones, where it is time to. */
  keep(): Promise<void>
  /** True once a second: a loop may search behind events that others have locked. */
  mayWalk(): boolean
}

/** Makes the upkeep. It goes round the accounts, however busy the loops are, so that none is stuck behind events of its own. */
export function createUpkeep<Tx>(
  store: SubscriptionStore<Tx>,
  subscription: Subscription<Tx>,
  holding: () => readonly string[] | null,
): Upkeep {
  let readyAt = 0
  let searchAt = 0
  let walkAt = 0
  let place = front
  const search = async () => {
    const found = await store.deferBehind(subscription, { holding: holding(), place })
    if (found.count > 0) searchAt = 0
    else place = found.endedAt === undefined ? front : behind(found.endedAt)
  }
  return {
    async keep() {
      const now = performance.now()
      if (now >= readyAt) {
        readyAt = now + readyPauseMs
        if (await store.makeDueReady(subscription.name)) readyAt = 0
      }
      if (now >= searchAt) {
        searchAt = now + searchPauseMs
        await search()
      }
    },
    mayWalk() {
      const now = performance.now()
      if (now < walkAt) return false
      walkAt = now + searchPauseMs
      return true
    },
  }
}
