import { describe, expect, it } from 'vitest'
import { listSome } from './list-some.ts'

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

describe('a list in a sentence', () => {
  it('has all of a few, and five of more with how many are left', () => {
    expect(listSome([])).toBe('')
    expect(listSome(names.slice(0, 5))).toBe('a, b, c, d, e')
    expect(listSome(names)).toBe('a, b, c, d, e and 2 more')
  })

  it('counts those that are not known here, and separates what has commas by semicolons', () => {
    expect(listSome(['a', 'b'], { count: 9 })).toBe('a, b and 7 more')
    expect(listSome(names, { count: 250, between: '; ' })).toBe('a; b; c; d; e; and 245 more')
  })
})
