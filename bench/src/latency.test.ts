import { expect, test } from 'vitest'
import { drawLatencies, heavyTail, meanLatencyMs } from './latency.ts'

test('the heavy tail has a mean of 74 milliseconds', () => {
  expect(meanLatencyMs(heavyTail)).toBe(74)
})

test('every hundred draws hold the exact shares', () => {
  const drawn = drawLatencies(heavyTail, 300, 1)
  for (const start of [0, 100, 200]) {
    const hundred = drawn.slice(start, start + 100)
    expect(hundred.filter((latencyMs) => latencyMs === 40)).toHaveLength(95)
    expect(hundred.filter((latencyMs) => latencyMs === 400)).toHaveLength(4)
    expect(hundred.filter((latencyMs) => latencyMs === 2000)).toHaveLength(1)
  }
})

test('a seed decides the order', () => {
  expect(drawLatencies(heavyTail, 100, 7)).toEqual(drawLatencies(heavyTail, 100, 7))
  expect(drawLatencies(heavyTail, 100, 7)).not.toEqual(drawLatencies(heavyTail, 100, 8))
})
