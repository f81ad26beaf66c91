import { expect, it } from 'vitest'
import { pausesOf } from './exchanges.ts'

it.each([
  [0, [0]],
  [30, [30, 0]],
  [1_000, [50, 100, 200, 400, 250, 0]],
])('a request that waits %i ms for another one asks seldom, and once more at the end', (waitMs, pauses) => {
  expect(pausesOf(waitMs)).toEqual(pauses)
})

it('asks about once a second in a long wait, which it never exceeds', () => {
  const pauses = pausesOf(10_000)
  expect(pauses.length).toBeLessThan(16)
  expect(pauses.reduce((sum, pause) => sum + pause)).toBe(10_000)
})
