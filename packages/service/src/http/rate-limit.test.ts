import { OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { createRateLimiter } from './rate-limit.ts'

const caught = (work: () => void): unknown => {
  try {
    work()
  } catch (error) {
    return error
  }
  return undefined
}

it('lets a burst through, then refuses with the time until the next token, per client', () => {
  let nowMs = 0
  const limiter = createRateLimiter({ perSecond: 2, burst: 3 }, () => nowMs)
  for (let count = 0; count < 3; count += 1) limiter.spend('a')
  const error = caught(() => limiter.spend('a'))
  expect(OutlayError.is(error, 'rate_limited') && error.retryAfterMs).toBe(500)
  limiter.spend('b')
  nowMs = 500
  limiter.spend('a')
  expect(caught(() => limiter.spend('a'))).toBeDefined()
})

it('never holds more than the burst', () => {
  let nowMs = 0
  const limiter = createRateLimiter({ perSecond: 100, burst: 2 }, () => nowMs)
  limiter.spend('a')
  nowMs = 3_600_000
  limiter.spend('a')
  limiter.spend('a')
  expect(caught(() => limiter.spend('a'))).toBeDefined()
})
