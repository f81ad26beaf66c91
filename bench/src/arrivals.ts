/** Matches what was sent with what arrived, by number. */
export interface Arrivals {
  /** Notes that the commit of the n-th is sent at this moment. */
  commit(n: number): void
  /** Notes that the n-th arrived at this moment. Throws Error when it did so before. */
  arrive(n: number): void
  /** Resolves when the n-th has arrived. */
  arrived(n: number): Promise<void>
  /** How many have arrived. */
  count(): number
  /** Milliseconds from commit to arrival of each, in the order of the commits. Throws Error when one never arrived. */
  latenciesMs(): readonly number[]
}

/** Makes one that knows nothing yet; `now` tells milliseconds. */
export function createArrivals(now: () => number = () => performance.now()): Arrivals {
  const committed = new Map<number, number>()
  const arrived = new Map<number, number>()
  const waiting = new Map<number, () => void>()
  return {
    commit: (n) => void committed.set(n, now()),
    arrive(n) {
      if (arrived.has(n)) throw new Error(`The request ${n} arrived twice.`)
      arrived.set(n, now())
      waiting.get(n)?.()
      waiting.delete(n)
    },
    arrived: (n) => (arrived.has(n) ? Promise.resolve() : new Promise<void>((resolve) => void waiting.set(n, resolve))),
    count: () => arrived.size,
    latenciesMs: () =>
      [...committed].map(([n, from]) => {
        const to = arrived.get(n)
        if (to === undefined) throw new Error(`The request ${n} never arrived.`)
        return to - from
      }),
  }
}
