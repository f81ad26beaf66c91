import type { Logger } from '@outlay/core'
import type { Subscription } from '@outlay/core/adapter'
import type { SubscriptionStore } from './subscriptions.ts'

/** Longest time between two records that this process attends a subscription, in milliseconds. */
const recordMs = 60_000

/** How long a type that no process attends defers the later events of its transfers, in milliseconds. */
export const defaultHoldMs = 600_000

/** Makes the attendance: it records that this process attends a subscription, and knows the types that any process attends. */
export function createAttendance<Tx>(
  store: SubscriptionStore<Tx>,
  { name, types }: Subscription<Tx>,
  logger: Logger,
  holdMs: number,
) {
  const startedAt = performance.now()
  let recordedAt = Number.NEGATIVE_INFINITY
  let recording: Promise<void> | undefined
  let holding: readonly string[] | null = null

  const record = async () => {
    const { attended, missing } = await store.attend(name, types, holdMs)
    recordedAt = performance.now()
    if (missing.length > 0) {
      const text = 'Types of a subscription were removed while this process attends them; it stores them again. '
      logger.warn({ subscription: name, types: missing }, `${text}Events of the time between are not delivered.`)
    }
    // A process that has just started cannot know whether others are starting too.
    if (recordedAt - startedAt < holdMs) return
    const before = holding
    holding = attended
    const isLess = before === null || before.some((type) => !attended.includes(type))
    if (isLess) await store.resumeDeferred(name)
  }
  return {
    /** Types whose earlier events defer later ones; null for all. */
    holding: () => holding,
    async keep(): Promise<void> {
      if (performance.now() - recordedAt < Math.min(recordMs, holdMs)) return
      recording ??= record().finally(() => {
        recording = undefined
      })
      await recording
    },
  }
}
