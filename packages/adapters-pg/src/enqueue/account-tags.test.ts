import { describe, expect, it } from 'vitest'
import { createAccountTags } from './account-tags.ts'

/** The tags of `count` jobs of an account, as the database gives them at this virtual time. */
const takeAll = (weight: number, count: number, clock = 0) => {
  const tags = createAccountTags(() => weight)
  return Array.from({ length: count }, () => {
    const base = tags.reserve('a')
    const tag = Math.max(base, clock) + 1
    tags.advance('a', tag)
    return tag
  })
}
const reserveTogether = (weight: number, count: number) => {
  const tags = createAccountTags(() => weight)
  const { bases, offsets } = tags.reserveMany(Array.from({ length: count }, () => 'a'))
  return offsets.map((offset, index) => (bases[index] ?? 0) + offset)
}

describe('the tags of an account', () => {
  it.each([
    [1, [1, 2, 3, 4, 5, 6]],
    [2, [1, 1, 2, 2, 3, 3]],
    [3, [1, 1, 1, 2, 2, 2]],
    [0.5, [2, 4, 6, 8, 10, 12]],
    [1.5, [1, 2, 2, 3, 4, 4]],
  ])('count up by the inverse of its weight of %d, one by one and together', (weight, tags) => {
    expect(takeAll(weight, 6)).toEqual(tags)
    expect(reserveTogether(weight, 6)).toEqual(tags)
  })

  it('start from the virtual time when that has moved past the account, at any weight', () => {
    expect(takeAll(1, 4, 100)).toEqual([101, 102, 103, 104])
    expect(takeAll(2, 4, 100)).toEqual([101, 101, 102, 102])
    expect(takeAll(0.5, 3, 100)).toEqual([101, 104, 106])
  })

  it('go on where a batch ended, in whole numbers, and do not drift', () => {
    const tags = createAccountTags(() => 3)
    for (let batch = 0; batch < 100; batch += 1) {
      const { bases, offsets, spans } = tags.reserveMany(Array.from({ length: 10 }, () => 'a'))
      for (const number of [...bases, ...offsets]) expect(Number.isInteger(number)).toBe(true)
      tags.advanceMany(spans, 0)
    }
    expect(tags.reserve('a')).toBe(333)
  })
})
