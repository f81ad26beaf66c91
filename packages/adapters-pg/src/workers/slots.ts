/** Places for submissions under way, of which those that hang take none for long. */
export interface Slots {
  /** Takes a place; gives what frees it. */
  begin(accountId: string): () => void
  /** Submissions that take a place. */
  busy(): number
  /** How many more may begin while so many jobs are held, those included whose answers are not written yet. */
  free(held: number): number
  /** Submissions under way that take none any more. */
  slow(): number
}

/** What places for submissions are made of. */
export interface SlotsOptions {
  readonly concurrency: number
  /** A submission that takes longer is slow, and takes no place any more, in milliseconds. */
  readonly slowAfterMs: number
  /** Called when a submission that is still under way gives its place up. */
  readonly onFree: () => void
  /** Called for an account that has more slow submissions under way than are good for the others. */
  readonly onHang: (accountId: string) => void
}

/** Jobs that may be held for each place, those included whose answers are not written yet, and slow ones aside. */
const maxHeldPerSlot = 3

/** The same with slow ones: the most that hangs. */
const maxHeldWithSlow = 4

/**
 * Makes the places. One account may have as many slow submissions as there are places: where all take that long, nothing is
 * slower than it would be without this rule. It may have a tenth as many while others have slow ones too, and one when there are
 * twice as many as places: then there is no room to be generous.
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
