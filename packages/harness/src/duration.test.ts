import { describe, expect, it } from 'vitest'
import { type Duration, parseDuration } from './duration.ts'

describe('a duration', () => {
  it.each([
    ['2 hours', 7_200_000],
    ['1 day', 86_400_000],
    ['1.5 minutes', 90_000],
    [250, 250],
    [0, 0],
  ] as const)('reads %s as %d ms', (duration, ms) => {
    expect(parseDuration(duration)).toBe(ms)
  })

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '2h', '-2 hours', '2 fortnights', ''])('refuses %s', (wrong) => {
    expect(() => parseDuration(wrong as Duration)).toThrow(/Not a duration/)
  })
})
