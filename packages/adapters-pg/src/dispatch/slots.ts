import { createCounts } from '../workers/counts.ts'

/** Slots for submissions under way. A submission that hangs gives its slot up after a time. */
export interface Slots {
  /** Occupies a slot for an account at one gateway; returns the function that frees it. */
  begin(accountId: string, gateway: string): () => void
  /** Submissions that occupy a slot. */
  busy(): number
  /** How many more may begin while so many jobs are held, including those whose answers are not written yet. */
  free(held: number): number
  /** How many more may begin at a gateway, as far as its share goes; infinite without slow ones there, and for the only gateway. */
  room(gateway: string): number
  /** Submissions under way that no longer occupy a slot. */
  slow(): number
}

/** What slots are made with. */
export interface SlotsOptions {
  readonly concurrency: number
  /** How many gateways the worker has. */
  readonly gateways: number
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

/** Submissions under way for each slot at a gateway that has slow ones, where it is not the only one. */
const maxAtSlowGateway = 2

/**
 * Makes the slots. One account may have as many slow submissions as there are slots: where all take that long, nothing is slower
 * than without this rule. It may have a tenth as many once all accounts of its gateway together have as many slow ones as there are
 * slots, and one when they have twice as many.
 *
 * A worker may hold so many that the share of one gateway is left when all others use theirs up.
 */
export function createSlots({ concurrency, gateways, slowAfterMs, onFree, onHang }: SlotsOptions): Slots {
  const slowOf = createCounts()
  const slowAt = createCounts()
  const busyAt = createCounts()
  const maxHeld = Math.max(maxHeldWithSlow, maxAtSlowGateway * gateways) * concurrency
  const allowedAt = (gateway: string) => {
    const slow = slowAt.get(gateway)
    if (slow < concurrency) return concurrency
    return slow < 2 * concurrency ? Math.ceil(concurrency / 10) : 1
  }
  return {
    busy: busyAt.total,
    slow: slowAt.total,
    free: (held) =>
      Math.min(concurrency - busyAt.total(), maxHeldPerSlot * concurrency - (held - slowAt.total()), maxHeld - held),
    room(gateway) {
      const slow = slowAt.get(gateway)
      if (gateways === 1 || slow === 0) return Number.POSITIVE_INFINITY
      return maxAtSlowGateway * concurrency - slow - busyAt.get(gateway)
    },
    begin(accountId, gateway) {
      busyAt.add(gateway, 1)
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        busyAt.add(gateway, -1)
        slowAt.add(gateway, 1)
        if (slowOf.add(accountId, 1) >= allowedAt(gateway)) onHang(accountId)
        onFree()
      }, slowAfterMs)
      return () => {
        clearTimeout(timer)
        if (!isSlow) return void busyAt.add(gateway, -1)
        slowAt.add(gateway, -1)
        slowOf.add(accountId, -1)
      }
    },
  }
}
