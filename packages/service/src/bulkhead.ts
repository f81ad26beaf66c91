/** Limits the simultaneous calls of each rail, so that one that hangs does not take everything that a process has. */
export interface Bulkhead {
  /**
   * Does `work` when the rail has a place for it. Rejects with the reason of the signal when that fires first, and at once when too
   * many wait. A call leaves its place when the signal fires, even if its work goes on.
   */
  enter<T>(rail: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** Limits of each rail. */
export interface BulkheadLimits {
  readonly mostCalls: number
  readonly mostWaiting: number
}

interface Places {
  calls: number
  /** In order of arrival. */
  readonly waiting: Set<() => void>
}

/** Makes a {@link Bulkhead}. It knows the rails that have a call under way. */
export function createBulkhead({ mostCalls, mostWaiting }: BulkheadLimits): Bulkhead {
  const rails = new Map<string, Places>()
  const placesOf = (rail: string): Places => {
    const places = rails.get(rail) ?? { calls: 0, waiting: new Set() }
    rails.set(rail, places)
    return places
  }
  return {
    async enter(rail, signal, work) {
      const places = placesOf(rail)
      if (places.calls < mostCalls) places.calls += 1
      else {
        if (places.waiting.size >= mostWaiting) throw new BulkheadFullError(rail)
        await queueFor(places, signal)
      }
      try {
        return await Promise.race([work(), aborted(signal)])
      } finally {
        leave(places)
        if (places.calls === 0) rails.delete(rail)
      }
    },
  }
}

/** What a call needs a place for: the rail or the like, and who asks. */
export interface CallPlace {
  readonly rail: string
  /** The client, or the account of a call for which no client asks. */
  readonly party: string
}

/** A {@link Bulkhead} in which nobody takes all places of a rail from the others. */
export interface FairBulkhead {
  /** As {@link Bulkhead.enter}. A call first waits for a place of its party, of which each has {@link partyLimits} for each rail. */
  enter<T>(place: CallPlace, signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** Calls of one rail at once in one process, and how many requests wait for one of them to end. */
const railLimits: BulkheadLimits = { mostCalls: 32, mostWaiting: 128 }

/** The same for one party: half, so that a deployer's only client is fast, and several clients leave each other room. */
const partyLimits: BulkheadLimits = { mostCalls: 16, mostWaiting: 64 }

const fairBulkheads = new WeakMap<object, FairBulkhead>()

/** The bulkhead of one port in this process, such as the rails or the custodian. */
export function bulkheadOf(port: object): FairBulkhead {
  const known = fairBulkheads.get(port) ?? createFairBulkhead()
  fairBulkheads.set(port, known)
  return known
}

function createFairBulkhead(): FairBulkhead {
  const [rails, parties] = [createBulkhead(railLimits), createBulkhead(partyLimits)]
  return {
    enter: ({ rail, party }, signal, work) =>
      parties.enter(`${rail} of ${party}`, signal, () => rails.enter(rail, signal, work)),
  }
}

/** Waits for a place that another call hands over. */
function queueFor(places: Places, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = () => {
      signal.removeEventListener('abort', giveUp)
      resolve()
    }
    const giveUp = () => {
      places.waiting.delete(enter)
      reject(signal.reason)
    }
    if (signal.aborted) return giveUp()
    places.waiting.add(enter)
    signal.addEventListener('abort', giveUp, { once: true })
  })
}

/** Hands the place to the call that waits longest. */
function leave(places: Places): void {
  const [next] = places.waiting
  if (next === undefined) {
    places.calls -= 1
    return
  }
  places.waiting.delete(next)
  next()
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** Too many calls wait for the rail. */
class BulkheadFullError extends Error {
  override readonly name = 'BulkheadFullError'

  constructor(rail: string) {
    super(`Too many calls wait for ${rail}.`)
  }
}
