import { describe, expect, it } from 'vitest'
import { formatDuration, parseDuration } from './duration.ts'

describe('a duration', () => {
  it.each([
    [0, '0s'],
    [999, '0s'],
    [61_000, '1m 1s'],
    [3_600_000, '1h'],
    [3_605_000, '1h'],
    [90_061_000, '1d 1h'],
    [-5_000, '-5s'],
  ])('of %i ms is written as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  it('is read back from its units, and from nothing else', () => {
    expect([parseDuration('90s'), parseDuration('15m'), parseDuration('2h'), parseDuration('1d')]).toEqual([
      90_000, 900_000, 7_200_000, 86_400_000,
    ])
    expect([parseDuration('15'), parseDuration('m'), parseDuration('-1m'), parseDuration('1w')]).toEqual(
      Array.from({ length: 4 }, () => undefined),
    )
  })
})
