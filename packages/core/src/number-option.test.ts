import { expect, it } from 'vitest'
import { checkNumbers, timerRange } from './number-option.ts'

it('a configured number is in its range, or absent', () => {
  const ranges = { concurrency: { min: 1, max: 10, integer: true }, rate: { min: 0 }, pauseMs: timerRange }
  checkNumbers({}, ranges)
  checkNumbers({ concurrency: 1, rate: 0.5, pauseMs: 2_147_483_647, other: Number.NaN }, ranges)
  checkNumbers({ concurrency: undefined }, ranges)
  const wrong = {
    concurrency: [0, 11, 1.5, Number.NaN, '5', null],
    pauseMs: [0, 2_147_483_648, Number.POSITIVE_INFINITY],
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) expect(() => checkNumbers({ [name]: value }, ranges)).toThrow(name)
  }
  expect(() => checkNumbers({ rate: -1 }, ranges, 'limits.')).toThrow('limits.rate is a number from 0 on; got -1.')
  expect(() => checkNumbers({ concurrency: '5' }, ranges)).toThrow(
    'concurrency is a whole number from 1 to 10; got string.',
  )
})
