/** Matches what hosts committed with what a worker delivered, by number, where both may fail and repeat. Times are in milliseconds. */
export interface Deliveries {
  /** Records that the n-th is due now: its host begins the transaction, and repeats it until it is committed. */
  expect(n: number): void
  /** Records that the commit of the n-th is sent now. The last one counts: an earlier one was not made. */
  commit(n: number): void
  /** Records that the n-th is delivered now. */
  deliver(n: number): void
  /** How many were delivered at least once. */
  count(): number
  /** How many deliveries there were beyond the first of each. */
  repeated(): number
  /** Those of these numbers that were never delivered. */
  missing(numbers: readonly number[]): readonly number[]
  /** Times from commit to first delivery of those that were committed in a span of time. */
  latenciesMs(from?: number, to?: number): readonly number[]
  /** How many were delivered for the first time in a span of time. */
  countBetween(from: number, to: number): number
  /** When the first one was delivered at or after a time; undefined when none was. */
  firstAfter(at: number): number | undefined
  /** When those were delivered first that were due before a time, and not delivered by then, in ascending order. */
  backlogAt(at: number): readonly number[]
}

/** Makes empty deliveries; `now` returns milliseconds. */
export function createDeliveries(now: () => number = () => performance.now()): Deliveries {
  const due = new Map<number, number>()
  const committed = new Map<number, number>()
  const delivered = new Map<number, number>()
  let all = 0
  const ascending = (times: readonly number[]) => times.toSorted((a, b) => a - b)
  return {
    expect: (n) => void due.set(n, now()),
    commit: (n) => void committed.set(n, now()),
    deliver(n) {
      all += 1
      if (!delivered.has(n)) delivered.set(n, now())
    },
    count: () => delivered.size,
    repeated: () => all - delivered.size,
    missing: (numbers) => numbers.filter((n) => !delivered.has(n)),
    latenciesMs: (from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY) =>
      [...committed].flatMap(([n, at]) => {
        const until = delivered.get(n)
        return at < from || at >= to || until === undefined ? [] : [until - at]
      }),
    countBetween: (from, to) => [...delivered.values()].filter((at) => at >= from && at < to).length,
    firstAfter: (at) => ascending([...delivered.values()].filter((time) => time >= at))[0],
    backlogAt: (at) =>
      ascending(
        [...due].flatMap(([n, dueAt]) => {
          const until = delivered.get(n)
          return dueAt >= at || until === undefined || until < at ? [] : [until]
        }),
      ),
  }
}
