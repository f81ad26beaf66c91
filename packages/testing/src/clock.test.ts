import { expect, test } from 'vitest'
import { manualClock } from './clock.ts'

test('a manual clock moves only when a test moves it, and only forward', () => {
  const clock = manualClock('2026-03-01T00:00:00.000Z')
  expect(clock.now()).toEqual(clock.now())
  expect(clock.advance(1_500).toISOString()).toBe('2026-03-01T00:00:01.500Z')
  expect(clock.now().toISOString()).toBe('2026-03-01T00:00:01.500Z')
  expect(() => clock.advance(-1)).toThrow('only go forward')
  expect(() => clock.advance(Number.NaN)).toThrow('only go forward')
  expect(() => manualClock('yesterday')).toThrow('Not a time')
})

test('a date from a manual clock cannot move it', () => {
  const clock = manualClock()
  const before = clock.now().toISOString()
  clock.now().setFullYear(1999)
  expect(clock.now().toISOString()).toBe(before)
})
