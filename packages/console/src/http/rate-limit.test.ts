import { expect, it } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

it('lets a burst through, then what has come back since', () => {
  let nowMs = 0
  const spend = createRateLimit({ perSecond: 2, burst: 3 }, () => nowMs)
  const isAllowed = () => {
    try {
      spend('ada')
      return true
    } catch {
      return false
    }
  }
  expect([isAllowed(), isAllowed(), isAllowed(), isAllowed()]).toEqual([true, true, true, false])
  nowMs = 499
  expect(isAllowed()).toBe(false)
  nowMs = 500
  expect([isAllowed(), isAllowed()]).toEqual([true, false])
  nowMs = 60_000
  expect([isAllowed(), isAllowed(), isAllowed(), isAllowed()]).toEqual([true, true, true, false])
})
