/** Matches sent messages with arrivals, by number. */
export interface Arrivals {
  /** Records that the commit of the n-th is sent now. */
  commit(n: number): void
  /** Records that the n-th arrived now. Throws Error when it arrived before. */
  arrive(n: number): void
  /** Resolves when the n-th has arrived. */
  arrived(n: number): Promise<void>
  /** How many have arrived. */
  count(): number
  /** Milliseconds from commit to arrival of each, in the order of the commits. Throws Error when one never arrived. */
  latenciesMs(): readonly number[]
}

/** Makes empty arrivals; `now` returns milliseconds. */
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
