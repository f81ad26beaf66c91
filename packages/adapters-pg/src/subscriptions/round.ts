import { behind, type DeliveryPlace, front } from './next-deliveries.ts'

/** Where a loop fetches events next. It goes round the accounts that have ready ones, so each has its turn. */
export interface Round {
  place(): DeliveryPlace
  /**
   * Events of these accounts were fetched, in this order: the last of them has its next turn after all others. Where they are fewer than the fetch may have
   * had, nothing was behind them, but for what other loops had: the next fetch begins at the front, a few times in a row.
   */
  pass(accountIds: readonly string[] | undefined, isFull: boolean): void
  /** Nothing was fetched behind an account: returns true, and begins at the front, unless the loop has just come from there. */
  goOn(): boolean
  /** Goes on where the events that one fetch reads end; without an end, the next fetch begins at the front, and this returns false. */
  goBehind(end: DeliveryPlace | undefined): boolean
}

/** How often in a row a loop begins at the front without a fetch behind what it had. */
const mostAtFront = 8

/** Makes the round of one loop. */
export function createRound(): Round {
  let place = front
  let hasPassed = false
  let atFront = 0
  return {
    place: () => place,
    pass(accountIds, isFull) {
      const last = accountIds?.at(-1)
      if (last === undefined) return
      const isAll = !isFull && atFront < mostAtFront
      atFront = isAll ? atFront + 1 : 0
      place = isAll ? front : behind(last)
      hasPassed = !isAll
    },
    goOn() {
      if (!hasPassed) return false
      place = front
      hasPassed = false
      return true
    },
    goBehind(end) {
      place = end ?? front
      return end !== undefined
    },
  }
}
