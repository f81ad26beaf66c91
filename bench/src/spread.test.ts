import { expect, test } from 'vitest'
import { quantile, summarize } from './spread.ts'

test('the median of an odd count is the middle one, whatever the order', () => {
  expect(summarize([9, 1, 5])).toEqual({ median: 5, min: 1, max: 9 })
})

test('the median of an even count lies between the middle two', () => {
  expect(summarize([4, 1, 3, 2]).median).toBe(2.5)
})

test('numbers are sorted as numbers', () => {
  expect(summarize([10, 9, 100]).median).toBe(10)
})

test('a quantile is interpolated', () => {
  expect(quantile([0, 10], 0.25)).toBe(2.5)
})

test('nothing has no median', () => {
  expect(() => summarize([])).toThrow('no numbers')
})
