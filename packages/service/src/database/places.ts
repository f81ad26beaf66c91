/** Places in front of something that does a limited number of works at once, such as a pool of connections, for several parties. */
export interface Places {
  /**
   * Does `work` when its party has a place for it, and in its turn: parties take turns, and the works of each go in order. Rejects when it
   * does not get one: with the reason of the signal when that fires first, and with {@link PlacesTakenError} when too many wait. A work that has
   * begun is not left.
   */
  enter<T>(party: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** Limits of {@link Places}. */
export interface PlacesLimits {
  /** Works at once. */
  readonly most: number
  /** Of one party. */
  readonly mostOfParty: number
  /** Works that wait. When so many do, a further one takes the place of the party that has most, if that has more than its own. */
  readonly mostWaiting: number
  /** Of one party. */
  readonly mostWaitingOfParty: number
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (reason: unknown) => void
}

interface Party {
  readonly name: string
  works: number
  /** In order of arrival. */
  readonly waiting: Set<Waiting>
}

/** Makes {@link Places}. It knows the parties that have works. */
export function createPlaces({ most, mostOfParty, mostWaiting, mostWaitingOfParty }: PlacesLimits): Places {
  const parties = new Map<string, Party>()
  /** Those with a place of their own for a work that waits, in the order of their turns. Empty while anything is free. */
  const ready = new Set<Party>()
  let works = 0
  let waiting = 0

  const partyOf = (name: string): Party => {
    const party = parties.get(name) ?? { name, works: 0, waiting: new Set() }
    parties.set(name, party)
    return party
  }
  const forgetIdle = (party: Party): void => {
    if (party.waiting.size === 0) ready.delete(party)
    if (party.works === 0 && party.waiting.size === 0) parties.delete(party.name)
  }
  const leaveQueue = (party: Party, one: Waiting): void => {
    if (!party.waiting.delete(one)) return
    waiting -= 1
    forgetIdle(party)
  }
  const take = (party: Party): void => {
    party.works += 1
    works += 1
  }
  const beginNext = (): void => {
    for (const party of ready) {
      if (works >= most) return
      const [next] = party.waiting
      ready.delete(party)
      if (next === undefined) continue
      take(party)
      leaveQueue(party, next)
      // At the end: it is visited again when the others have had their turns.
      if (party.waiting.size > 0 && party.works < mostOfParty) ready.add(party)
      next.begin()
    }
  }
  const leave = (party: Party): void => {
    party.works -= 1
    works -= 1
    if (party.waiting.size > 0) ready.add(party)
    else forgetIdle(party)
    beginNext()
  }
  const makeRoom = (party: Party): void => {
    if (party.waiting.size >= mostWaitingOfParty) throw new PlacesTakenError()
    if (waiting < mostWaiting) return
    let largest = party
    for (const one of parties.values()) if (one.waiting.size > largest.waiting.size) largest = one
    const [oldest] = largest.waiting
    if (oldest === undefined || largest.waiting.size <= party.waiting.size + 1) throw new PlacesTakenError()
    oldest.refuse(new PlacesTakenError())
  }
  const queue = (party: Party, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const giveUp = () => one.refuse(signal.reason)
      const one: Waiting = {
        begin() {
          signal.removeEventListener('abort', giveUp)
          resolve()
        },
        refuse(reason) {
          signal.removeEventListener('abort', giveUp)
          leaveQueue(party, one)
          reject(reason)
        },
      }
      party.waiting.add(one)
      waiting += 1
      if (party.works < mostOfParty) ready.add(party)
      signal.addEventListener('abort', giveUp, { once: true })
    })

  return {
    async enter(name, signal, work) {
      signal.throwIfAborted()
      const party = partyOf(name)
      if (works < most && party.works < mostOfParty) take(party)
      else {
        makeRoom(party)
        await queue(party, signal)
      }
      try {
        return await work()
      } finally {
        leave(party)
      }
    },
  }
}

/** Too many works wait for a place. */
export class PlacesTakenError extends Error {
  override readonly name = 'PlacesTakenError'

  constructor() {
    super('Too many works wait for a place.')
  }
}
