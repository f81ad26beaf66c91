/** Transfers that another transaction had locked when a fact was to be applied, in this process. */
export interface LockedTransfers {
  /** `locked`: its time has not come yet. `due`: it is to be tried again, apart from the others. */
  stateOf(transferId: string | undefined): 'free' | 'due' | 'locked'
  add(transferId: string): void
  forget(transferId: string): void
}

/** Pause before a transfer is tried again, in milliseconds: twice as long each time, to a limit. */
const pauseMs = { first: 500, longest: 30_000 }

/** Most transfers that are known. Of more, those that were locked first are tried as all others are. */
const mostKnown = 10_000

/** Makes the memory of locked transfers. */
export function createLockedTransfers(now: () => number = () => performance.now()): LockedTransfers {
  const known = new Map<string, { readonly untilMs: number; readonly pauseMs: number }>()
  return {
    stateOf(transferId) {
      const one = transferId === undefined ? undefined : known.get(transferId)
      if (one === undefined) return 'free'
      return one.untilMs > now() ? 'locked' : 'due'
    },
    add(transferId) {
      const last = known.get(transferId)?.pauseMs
      const pause = last === undefined ? pauseMs.first : Math.min(2 * last, pauseMs.longest)
      known.delete(transferId)
      known.set(transferId, { untilMs: now() + pause, pauseMs: pause })
      const [oldest] = known.keys()
      if (known.size > mostKnown && oldest !== undefined) known.delete(oldest)
    },
    forget: (transferId) => {
      known.delete(transferId)
    },
  }
}
