import { expect, it } from 'vitest'
import { createTokenBuckets } from './token-buckets.ts'

it('forgets the bucket that was used least recently, not the one that is used', () => {
  const buckets = createTokenBuckets({ perSecond: 0.001, burst: 1 }, () => 0)
  expect([buckets.take('first'), buckets.take('used')]).toEqual([0, 0])
  for (let count = 0; count < 10_000; count += 1) {
    buckets.take(`other ${count}`)
    expect(buckets.take('used')).toBeGreaterThan(0)
  }
  expect(buckets.take('first')).toBe(0)
})

it('a token that is given back can be taken again, and there are never more than the burst', () => {
  const buckets = createTokenBuckets({ perSecond: 2, burst: 1 }, () => 0)
  expect([buckets.take('a'), buckets.take('a')]).toEqual([0, 500])
  buckets.give('a')
  buckets.give('a')
  expect([buckets.take('a'), buckets.take('a')]).toEqual([0, 500])
})
