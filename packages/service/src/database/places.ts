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
export function createPlaces(limits: PlacesLimits): Places {
  const { most, mostOfParty } = limits
  const line = createLine(limits)
  let works = 0

  const take = (party: Party): void => {
    party.works += 1
    works += 1
  }
  const beginNext = (): void => {
    while (works < most) {
      const next = line.next()
      if (next === undefined) return
      take(next.party)
      line.update(next.party)
      next.begin()
    }
  }
  const leave = (party: Party): void => {
    party.works -= 1
    works -= 1
    line.update(party)
    beginNext()
  }
  return {
    async enter(name, signal, work) {
      signal.throwIfAborted()
      const party = line.partyOf(name)
      if (works < most && party.works < mostOfParty) take(party)
      else await line.wait(party, signal)
      try {
        return await work()
      } finally {
        leave(party)
      }
    },
  }
}

/** Works that wait, in the order in which they are to begin. */
interface Line {
  partyOf(name: string): Party
  /** Resolves when the work has its place, which counts already. */
  wait(party: Party, signal: AbortSignal): Promise<void>
  /** Takes out the first work of the party whose turn it is; `undefined` when none may begin. */
  next(): { readonly party: Party; begin(): void } | undefined
  /** Notes that the number of works of a party has changed. */
  update(party: Party): void
}

function createLine({ mostOfParty, mostWaiting, mostWaitingOfParty }: PlacesLimits): Line {
  const parties = new Map<string, Party>()
  /** Those with a place of their own for a work that waits, in the order of their turns. */
  const ready = new Set<Party>()
  let waiting = 0

  const update = (party: Party): void => {
    if (party.waiting.size > 0 && party.works < mostOfParty) ready.add(party)
    else ready.delete(party)
    if (party.works === 0 && party.waiting.size === 0) parties.delete(party.name)
  }
  const remove = (party: Party, one: Waiting): void => {
    if (!party.waiting.delete(one)) return
    waiting -= 1
    update(party)
  }
  const makesRoom = (party: Party): boolean => {
    if (party.waiting.size >= mostWaitingOfParty) return false
    if (waiting < mostWaiting) return true
    let largest = party
    for (const one of parties.values()) if (one.waiting.size > largest.waiting.size) largest = one
    const [oldest] = largest.waiting
    if (oldest === undefined || largest.waiting.size <= party.waiting.size + 1) return false
    oldest.refuse(new PlacesTakenError())
    return true
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
          remove(party, one)
          reject(reason)
        },
      }
      party.waiting.add(one)
      waiting += 1
      update(party)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  return {
    update,
    partyOf(name) {
      const party = parties.get(name) ?? { name, works: 0, waiting: new Set() }
      parties.set(name, party)
      return party
    },
    async wait(party, signal) {
      if (makesRoom(party)) return await queue(party, signal)
      update(party)
      throw new PlacesTakenError()
    },
    next() {
      const [party] = ready
      const [one] = party?.waiting ?? []
      if (party === undefined || one === undefined) return undefined
      // It is ready again behind the others.
      ready.delete(party)
      party.waiting.delete(one)
      waiting -= 1
      return { party, begin: one.begin }
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
