import { setImmediate } from 'node:timers/promises'
import { createPlaces } from '../database/places.ts'

/** Runs parts of long computations, one part in each turn of the event loop. */
export interface Turns {
  /** Runs one part in a turn of its own. Parties take turns, so that nobody waits for all parts of another one. */
  take<T>(party: string, part: () => T): Promise<T>
}

/** Makes {@link Turns}. What waits is bounded by those who wait for it: give each request one part at a time. */
export function createTurns(): Turns {
  const unbounded = { mostWaiting: Number.POSITIVE_INFINITY, mostWaitingOfParty: Number.POSITIVE_INFINITY }
  const places = createPlaces({ most: 1, mostOfParty: 1, ...unbounded })
  const never = new AbortController().signal
  return {
    take: (party, part) =>
      places.enter(party, never, async () => {
        await setImmediate()
        return part()
      }),
  }
}
