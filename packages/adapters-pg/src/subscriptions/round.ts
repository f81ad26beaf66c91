import { behind, type DeliveryPlace, front } from './next-deliveries.ts'

/** Where a loop fetches events next. It goes round the accounts that have ready ones, so each has its turn. */
export interface Round {
  place(): DeliveryPlace
  /** Events of these accounts were fetched, in this order: the last of them has its next turn after all others. */
  pass(accountIds: readonly string[] | undefined): void
  /** Nothing was fetched behind an account: returns true, and begins at the front, unless the loop has just come from there. */
  goOn(): boolean
  /** Goes on where the events that one fetch reads end; without an end, the next fetch begins at the front, and this returns false. */
  goBehind(end: DeliveryPlace | undefined): boolean
}

/** Makes the round of one loop. */
export function createRound(): Round {
  let place = front
  let hasPassed = false
  return {
    place: () => place,
    pass(accountIds) {
      const last = accountIds?.at(-1)
      if (last === undefined) return
      place = behind(last)
      hasPassed = true
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
