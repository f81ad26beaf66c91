import type { Subscription } from '@outlay/core'
import type { SubscriptionStore } from '../subscriptions.ts'

/** Longest time between two notes that this process attends a subscription, in milliseconds. */
const noteMs = 60_000

/** How long a type that nobody attends holds back the later events of its transfers, in milliseconds. */
export const defaultHoldMs = 600_000

/** Makes what notes that this process attends a subscription, and knows for which types any process does. */
export function createAttendance<Tx>(store: SubscriptionStore<Tx>, { name, types }: Subscription<Tx>, holdMs: number) {
  const startedAt = performance.now()
  let notedAt = Number.NEGATIVE_INFINITY
  let noting: Promise<void> | undefined
  let holding: readonly string[] | null = null

  const note = async () => {
    const attended = await store.attend(name, types, holdMs)
    notedAt = performance.now()
    // Whoever has just started cannot know that the others do not start too.
    if (notedAt - startedAt < holdMs) return
    const before = holding
    holding = attended
    const isLess = before === null || before.some((type) => !attended.includes(type))
    if (isLess) await store.bringUp(name)
  }
  return {
    /** Types whose earlier events hold later ones back; null for all. */
    holding: () => holding,
    async keep(): Promise<void> {
      if (performance.now() - notedAt < Math.min(noteMs, holdMs)) return
      noting ??= note().finally(() => {
        noting = undefined
      })
      await noting
    },
  }
}
