import type { Sample } from './sample.ts'

/** How one figure went from the first fifth of a run to the last. */
export interface Growth {
  readonly name: string
  /** Mean over the first fifth, the warm-up left out. */
  readonly first: number
  /** Mean over the last fifth. */
  readonly last: number
  /** What each payout added in between. */
  readonly perPayout: number
  /** True when it went up by more than a tenth and more than what is noise for its kind. */
  readonly grows: boolean
}

/** The parts of a sample that are compared. */
export type Part = 'memory' | 'tables' | 'deadRows' | 'latencies'

/** What is too little to be called growth: bytes of memory and of tables, rows, milliseconds. */
const noise: Readonly<Record<Part, number>> = {
  memory: 16 * 2 ** 20,
  tables: 512 * 2 ** 10,
  deadRows: 2_000,
  latencies: 20,
}

/** Compares the first fifth of the samples with the last. Returns nothing when there are fewer than five. */
export function compareFifths(samples: readonly Sample[], part: Part): readonly Growth[] {
  const count = Math.floor(samples.length / 5)
  if (count === 0) return []
  const [first, last] = [samples.slice(0, count), samples.slice(-count)]
  const payouts = mean(last.map((one) => one.payouts)) - mean(first.map((one) => one.payouts))
  const names = new Set([...first, ...last].flatMap((sample) => Object.keys(sample[part])))
  return [...names].sort().map((name) => {
    const [before, after] = [first, last].map((fifth) => mean(fifth.flatMap((sample) => sample[part][name] ?? [])))
    const [from, to] = [before ?? 0, after ?? 0]
    return {
      name,
      first: from,
      last: to,
      perPayout: payouts > 0 ? (to - from) / payouts : 0,
      grows: to - from > noise[part] && to > from * 1.1,
    }
  })
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
