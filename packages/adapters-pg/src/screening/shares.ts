import { createCounts } from '../workers/counts.ts'

/** Transfers that may be leased for each call, with those whose answers are not written yet. */
const maxHeldPerCall = 4

/**
 * Counts the calls under way, and the transfers that are held until what their calls came to is written. One account has half of each at
 * most: neither its calls that hang nor its transfers that somebody has locked take the place of others.
 */
export function createShares(concurrency: number) {
  const calls = createCounts()
  const held = createCounts()
  const mostHeld = maxHeldPerCall * concurrency
  const mostEach = Math.max(1, Math.ceil(concurrency / 2))
  const mostBeside = mostHeld / 2 - mostEach
  return {
    mostEach,
    calls: calls.total,
    /** How many more may be leased while so many calls may be made at once. */
    room: (atOnce: number) => Math.min(atOnce - calls.total(), mostHeld - held.total()),
    /** Calls under way by account, or more where as many are held as it may have beside them. */
    underWay: (): ReadonlyMap<string, number> =>
      new Map(held.names().map((name) => [name, Math.max(calls.get(name), held.get(name) - mostBeside)])),
    /** Begins a call; returns what ends it. The transfer is held beyond that. */
    begin(accountId: string): { readonly answered: () => void; readonly written: () => void } {
      calls.add(accountId, 1)
      held.add(accountId, 1)
      return { answered: () => void calls.add(accountId, -1), written: () => void held.add(accountId, -1) }
    },
  }
}
