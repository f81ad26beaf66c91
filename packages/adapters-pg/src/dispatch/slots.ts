/** Slots for submissions under way. A submission that hangs gives its slot up after a time. */
export interface Slots {
  /** Occupies a slot; returns the function that frees it. */
  begin(accountId: string): () => void
  /** Submissions that occupy a slot. */
  busy(): number
  /** How many more may begin while so many jobs are held, including those whose answers are not written yet. */
  free(held: number): number
  /** Submissions under way that no longer occupy a slot. */
  slow(): number
}

/** What slots are made with. */
export interface SlotsOptions {
  readonly concurrency: number
  /** A submission that takes longer is slow, and no longer occupies a slot, in milliseconds. */
  readonly slowAfterMs: number
  /** Called when a submission that is still under way gives its slot up. */
  readonly onFree: () => void
  /** Called for an account with more slow submissions under way than it may have. */
  readonly onHang: (accountId: string) => void
}

/** Jobs that may be held for each slot, including those whose answers are not written yet, and without slow ones. */
const maxHeldPerSlot = 3

/** The same with slow ones: the most that hangs. */
const maxHeldWithSlow = 4

/**
 * Makes the slots. One account may have as many slow submissions as there are slots: where all take that long, nothing is slower
 * than without this rule. It may have a tenth as many once all accounts together have as many slow ones as there are slots, and one
 * when they have twice as many.
 */
export function createSlots({ concurrency, slowAfterMs, onFree, onHang }: SlotsOptions): Slots {
  const slow = new Map<string, number>()
  let busy = 0
  let allSlow = 0
  const addSlow = (accountId: string, change: 1 | -1): number => {
    const count = (slow.get(accountId) ?? 0) + change
    allSlow += change
    if (count === 0) slow.delete(accountId)
    else slow.set(accountId, count)
    return count
  }
  const allowed = () => {
    if (allSlow < concurrency) return concurrency
    return allSlow < 2 * concurrency ? Math.ceil(concurrency / 10) : 1
  }
  return {
    busy: () => busy,
    slow: () => allSlow,
    free: (held) =>
      Math.min(
        concurrency - busy,
        maxHeldPerSlot * concurrency - (held - allSlow),
        maxHeldWithSlow * concurrency - held,
      ),
    begin(accountId) {
      busy += 1
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        busy -= 1
        if (addSlow(accountId, 1) >= allowed()) onHang(accountId)
        onFree()
      }, slowAfterMs)
      return () => {
        clearTimeout(timer)
        if (isSlow) addSlow(accountId, -1)
        else busy -= 1
      }
    },
  }
}
