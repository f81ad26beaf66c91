/** The middle of a set of numbers and how far it reaches. */
export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

/** Sums up numbers. Throws Error when there are none. */
export function summarize(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const [min, max] = [sorted.at(0), sorted.at(-1)]
  if (min === undefined || max === undefined) throw new Error('There are no numbers to sum up.')
  return { median: quantileOf(sorted, 0.5), min, max }
}

/** The value below which a share of the numbers lies, interpolated. Throws Error when there are none. */
export function quantile(values: readonly number[], share: number): number {
  return quantileOf(
    values.toSorted((a, b) => a - b),
    share,
  )
}

function quantileOf(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share
  const below = sorted[Math.floor(position)]
  const above = sorted[Math.ceil(position)]
  if (below === undefined || above === undefined) throw new Error('There are no numbers to sum up.')
  return below + (above - below) * (position - Math.floor(position))
}
