import { expect, test } from 'vitest'
import { seededRandom } from './random.ts'

const draw = (seed: number, count: number) => {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => random.fraction())
}

test('the same seed gives the same sequence, and another seed another', () => {
  expect(draw(1, 10)).toEqual(draw(1, 10))
  expect(draw(1, 10)).not.toEqual(draw(2, 10))
  expect(seededRandom(3).bytes(16)).toEqual(seededRandom(3).bytes(16))
  expect(seededRandom(3).bytes(16)).toHaveLength(16)
})

test('fractions fill the unit interval evenly, and so do octets', () => {
  for (const seed of [0, 1, -1, 2 ** 31]) {
    const buckets = Array.from({ length: 10 }, () => 0)
    for (const fraction of draw(seed, 10_000)) {
      const bucket = Math.floor(fraction * 10)
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
    }
    expect(buckets).toHaveLength(10)
    for (const count of buckets) expect(Math.abs(count - 1_000)).toBeLessThan(150)
  }
  expect(new Set(seededRandom(4).bytes(4_096)).size).toBe(256)
})
