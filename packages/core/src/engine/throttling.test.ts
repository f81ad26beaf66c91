import { describe, expect, it } from 'vitest'
import type { Throttle } from '../ports/throttle.ts'
import { decideThrottle } from './throttling.ts'

const start = Date.parse('2026-11-20T12:00:00.000Z')
const at = (seconds: number) => new Date(start + seconds * 1_000)
const throttle = (current: Throttle | null, seconds: number, retryAfterMs = 0, submittedPerSecond = 0, fraction = 0) =>
  decideThrottle(current, { kind: 'throttled', retryAfterMs, submittedPerSecond }, at(seconds), fraction)
const check = (
  current: Throttle | null,
  seconds: number,
  answered: boolean,
  waitedSeconds: number | null = seconds,
) => {
  const waitedAt = waitedSeconds === null ? null : at(waitedSeconds).toISOString()
  return decideThrottle(current, { kind: 'checked', answered, waitedAt }, at(seconds), 0)
}

describe('the decision about the throttle of an account', () => {
  it('halves the rate of the account and pauses it for as long as the service asked', () => {
    expect(throttle(null, 0, 30_000, 80)).toEqual({
      ratePerSecond: 40,
      throttledUntil: at(30).toISOString(),
      changedAt: at(0).toISOString(),
    })
  })

  it('pauses for a second when the service names no time, with jitter, and for an hour at most', () => {
    expect(throttle(null, 0)?.throttledUntil).toBe(at(1).toISOString())
    expect(throttle(null, 0, 0, 0, 0.5)?.throttledUntil).toBe(at(1.5).toISOString())
    expect(throttle(null, 0, 1e12)?.throttledUntil).toBe(at(3_600).toISOString())
  })

  it('counts 429s during the pause as one, which only lengthens the pause', () => {
    const held = throttle(null, 0, 10_000, 80)
    expect(throttle(held, 1, 2_000)).toBe(held)
    expect(throttle(held, 1, 9_000)).toBe(held)
    expect(throttle(held, 1, 20_000)).toEqual({ ...held, throttledUntil: at(21).toISOString() })
  })

  it('halves again after the pause, but never to nothing', () => {
    let slowed = throttle(null, 0, 1_000, 80)
    slowed = throttle(slowed, 1)
    expect(slowed?.ratePerSecond).toBe(20)
    for (let seconds = 10; seconds < 1_000; seconds += 10) slowed = throttle(slowed, seconds)
    expect(slowed?.ratePerSecond).toBe(0.1)
  })

  it('grows by a tenth for each second in which the service answered, and not otherwise', () => {
    const slow = throttle(null, 0, 1_000, 80)
    expect(check(slow, 0.5, true)).toBe(slow)
    expect(check(slow, 1.9, true)).toBe(slow)
    expect(check(slow, 30, false)).toBe(slow)
    const faster = check(slow, 2, true)
    expect(faster?.ratePerSecond).toBeCloseTo(44)
    expect(check(faster, 2.9, true)).toBe(faster)
    expect(check(faster, 3, true)?.ratePerSecond).toBeCloseTo(48.4)
  })

  it('ends when the rate has grown beyond what any account sends, although something waits for another limit', () => {
    let slow = throttle(null, 0, 1_000, 80)
    let seconds = 1
    for (; slow !== null && seconds < 1_000; seconds += 1) {
      expect(slow.ratePerSecond).toBeLessThanOrEqual(100_000)
      slow = check(slow, seconds, true)
    }
    expect(slow).toBeNull()
    expect(seconds).toBeGreaterThan(60)
  })

  it('returns from any lowered rate to the one before within eight seconds of answers', () => {
    let slowed = throttle(null, 0, 1_000, 1_000)
    for (let seconds = 2; seconds <= 9; seconds += 1) slowed = check(slowed, seconds, true)
    expect(slowed?.ratePerSecond).toBeGreaterThanOrEqual(1_000)
  })

  it('is forgotten when nothing had to wait for it for a minute', () => {
    const slow = throttle(null, 0, 1_000, 80)
    expect(check(slow, 60, true, null)).not.toBeNull()
    expect(check(slow, 61, false, null)).toBeNull()
    expect(check(slow, 61, false, 30)).toBe(slow)
    expect(check(slow, 90, false, 30)).toBeNull()
    expect(check(null, 0, true)).toBeNull()
  })
})
