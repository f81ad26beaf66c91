import { seededRandom } from '@outlay/testing'

/** One latency and how many of every hundred draws have it. */
export interface LatencyShare {
  readonly latencyMs: number
  readonly perHundred: number
}

/** A service that mostly answers quickly, sometimes slowly, and now and then very slowly. */
export const heavyTail: readonly LatencyShare[] = [
  { latencyMs: 40, perHundred: 95 },
  { latencyMs: 400, perHundred: 4 },
  { latencyMs: 2000, perHundred: 1 },
]

/** The mean latency of a distribution, in milliseconds. */
export function meanLatencyMs(shares: readonly LatencyShare[]): number {
  return shares.reduce((sum, { latencyMs, perHundred }) => sum + latencyMs * perHundred, 0) / 100
}

/**
 * Draws latencies, in milliseconds. Every hundred in a row holds the exact shares in an order that the seed decides, so
 * that a short round has the same mean as a long one.
 */
export function drawLatencies(shares: readonly LatencyShare[], count: number, seed: number): readonly number[] {
  const random = seededRandom(seed)
  const hundred = shares.flatMap(({ latencyMs, perHundred }) => Array.from({ length: perHundred }, () => latencyMs))
  const drawn: number[] = []
  while (drawn.length < count) drawn.push(...shuffle(hundred, () => random.fraction()))
  return drawn.slice(0, count)
}

function shuffle(values: readonly number[], fraction: () => number): readonly number[] {
  return values
    .map((value) => ({ value, rank: fraction() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ value }) => value)
}
