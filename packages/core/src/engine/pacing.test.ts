import { describe, expect, it } from 'vitest'
import type { Pace } from '../ports/accounts.ts'
import { decidePace } from './pacing.ts'

const start = Date.parse('2026-11-20T12:00:00.000Z')
const at = (seconds: number) => new Date(start + seconds * 1_000)
const throttle = (current: Pace | null, seconds: number, retryAfterMs = 0, submittedPerSecond = 0, fraction = 0) =>
  decidePace(current, { kind: 'throttled', retryAfterMs, submittedPerSecond }, at(seconds), fraction)
const look = (current: Pace | null, seconds: number, answered: boolean, waitedSeconds: number | null = seconds) => {
  const waitedAt = waitedSeconds === null ? null : at(waitedSeconds).toISOString()
  return decidePace(current, { kind: 'looked', answered, waitedAt }, at(seconds), 0)
}

describe('the decision about the pace of an account', () => {
  it('halves what the account sent and holds all of it for as long as the service asked', () => {
    expect(throttle(null, 0, 30_000, 80)).toEqual({
      ratePerSecond: 40,
      heldUntil: at(30).toISOString(),
      changedAt: at(0).toISOString(),
    })
  })

  it('holds for a second when the service does not say, with jitter, and for an hour at most', () => {
    expect(throttle(null, 0)?.heldUntil).toBe(at(1).toISOString())
    expect(throttle(null, 0, 0, 0, 0.5)?.heldUntil).toBe(at(1.5).toISOString())
    expect(throttle(null, 0, 1e12)?.heldUntil).toBe(at(3_600).toISOString())
  })

  it('takes those that were on their way meanwhile for one refusal, which only lengthen the hold', () => {
    const held = throttle(null, 0, 10_000, 80)
    expect(throttle(held, 1, 2_000)).toBe(held)
    expect(throttle(held, 1, 9_000)).toBe(held)
    expect(throttle(held, 1, 20_000)).toEqual({ ...held, heldUntil: at(21).toISOString() })
  })

  it('halves again after the hold, but never to nothing', () => {
    let pace = throttle(null, 0, 1_000, 80)
    pace = throttle(pace, 1)
    expect(pace?.ratePerSecond).toBe(20)
    for (let seconds = 10; seconds < 1_000; seconds += 10) pace = throttle(pace, seconds)
    expect(pace?.ratePerSecond).toBe(0.1)
  })

  it('grows by a tenth for each second in which the service took something, and not otherwise', () => {
    const slow = throttle(null, 0, 1_000, 80)
    expect(look(slow, 0.5, true)).toBe(slow)
    expect(look(slow, 1.9, true)).toBe(slow)
    expect(look(slow, 30, false)).toBe(slow)
    const faster = look(slow, 2, true)
    expect(faster?.ratePerSecond).toBeCloseTo(44)
    expect(look(faster, 2.9, true)).toBe(faster)
    expect(look(faster, 3, true)?.ratePerSecond).toBeCloseTo(48.4)
  })

  it('comes from any lowered rate back to the one before within eight seconds of answers', () => {
    let pace = throttle(null, 0, 1_000, 1_000)
    for (let seconds = 2; seconds <= 9; seconds += 1) pace = look(pace, seconds, true)
    expect(pace?.ratePerSecond).toBeGreaterThanOrEqual(1_000)
  })

  it('is forgotten when nothing had to wait for it for a minute', () => {
    const slow = throttle(null, 0, 1_000, 80)
    expect(look(slow, 60, true, null)).not.toBeNull()
    expect(look(slow, 61, false, null)).toBeNull()
    expect(look(slow, 61, false, 30)).toBe(slow)
    expect(look(slow, 90, false, 30)).toBeNull()
    expect(look(null, 0, true)).toBeNull()
  })
})
