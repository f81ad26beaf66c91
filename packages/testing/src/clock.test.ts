import { expect, test } from 'vitest'
import { manualClock } from './clock.ts'

test('a manual clock stands still until it is moved, and goes forward only', () => {
  const clock = manualClock('2026-03-01T00:00:00.000Z')
  expect(clock.now()).toEqual(clock.now())
  expect(clock.advance(1_500).toISOString()).toBe('2026-03-01T00:00:01.500Z')
  expect(clock.now().toISOString()).toBe('2026-03-01T00:00:01.500Z')
  expect(() => clock.advance(-1)).toThrow('forward only')
  expect(() => clock.advance(Number.NaN)).toThrow('forward only')
  expect(() => manualClock('yesterday')).toThrow('Not a time')
})

test('what a manual clock gave away cannot move it', () => {
  const clock = manualClock()
  const before = clock.now().toISOString()
  clock.now().setFullYear(1999)
  expect(clock.now().toISOString()).toBe(before)
})
