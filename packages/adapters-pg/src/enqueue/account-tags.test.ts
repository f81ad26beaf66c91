import { describe, expect, it } from 'vitest'
import { createAccountTags } from './account-tags.ts'

/** The tags of `count` jobs of an account, as the database gives them at this virtual time. */
const takeAll = (weight: number, count: number, clock = 0) => {
  const tags = createAccountTags(() => weight)
  return Array.from({ length: count }, () => {
    const place = tags.reserve('a')
    const tag = Math.max(place.base, clock) + 1
    place.advance(tag)
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
      const { bases, offsets, advance } = tags.reserveMany(Array.from({ length: 10 }, () => 'a'))
      for (const number of [...bases, ...offsets]) expect(Number.isInteger(number)).toBe(true)
      advance(0)
    }
    expect(tags.reserve('a').base).toBe(333)
  })

  it.each([1, 3, 0.3])('are given back for jobs that were not written, at the weight %d', (weight) => {
    const tags = createAccountTags(() => weight)
    const { base } = tags.reserve('a')
    const many = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? 'a' : 'b'))
    for (let time = 0; time < 1_000; time += 1) {
      tags.reserve('a').giveBack()
      const reused = tags.reserveMany(many)
      reused.giveBack(many)
      reused.advance(0)
      tags.reserveMany(many).giveBackAll()
    }
    expect([tags.reserve('a').base, tags.reserve('b').base]).toEqual([Math.ceil(2 / weight) - 1, base])
  })

  it('are not given back from behind a jump of the virtual time', () => {
    const tags = createAccountTags(() => 1)
    const early = tags.reserve('a')
    const together = tags.reserveMany(['a', 'a'])
    tags.reserve('a').advance(1_000)
    early.giveBack()
    together.giveBackAll()
    expect(tags.reserve('a').base).toBe(1_000)
  })

  it('begin again beside a virtual time that was set back, and fit into an integer', () => {
    const tags = createAccountTags(() => 0.01)
    const many = Array.from({ length: 10_000 }, () => 'a')
    for (let time = 0; time < 2_500; time += 1) tags.reserveMany(many)
    const together = tags.reserveMany(many)
    const last = (together.bases[0] ?? 0) + (together.offsets.at(-1) ?? 0)
    expect([last, tags.reserve('a').base].every((tag) => tag < 2 ** 31)).toBe(true)
    together.advance(0)
    expect(tags.reserve('a').base).toBe(1_000_099)
    tags.reserve('a').advance(1)
    expect(tags.reserve('a').base).toBe(199)
  })
})
