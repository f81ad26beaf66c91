import type { Throttle, ThrottleSignal } from '../ports/throttle.ts'
import { retryDelayMs } from '../retry.ts'

/** Lower bound of the rate, in submissions per second: some requests must go out to detect that the throttling is over. */
const slowestPerSecond = 0.1

/**
 * A rate beyond this, in submissions per second, is a limit for nobody, so the throttle is removed: what waits then waits for another
 * limit, such as the concurrency of the account, and the rate would grow without an end.
 */
const fastestPerSecond = 100_000

/** Factor of the rate after a 429. */
const cut = 0.5

/** Factor of the rate after an answer other than 429, once per {@link raiseEveryMs}. */
const raise = 1.1

/** Shortest time between two raises, in milliseconds. */
const raiseEveryMs = 1_000

/** A throttle that nothing had to wait for is removed after this, in milliseconds. */
const forgetAfterMs = 60_000

/** Pause after a 429 that asks for none, in milliseconds. */
const pauseMs = 1_000

/**
 * Decides how far an account is throttled. A 429 halves the account's rate and pauses it for as long as the service asked;
 * further 429s during the pause only lengthen it. Then the rate grows by a tenth for each second in which the service answers
 * something else. The throttle is removed when nothing has waited for a minute, or no account is that fast. `fraction` is for jitter.
 */
export function decideThrottle(
  current: Throttle | null,
  signal: ThrottleSignal,
  now: Date,
  fraction: number,
): Throttle | null {
  if (signal.kind === 'throttled') return slowDown(current, signal, now, fraction)
  return current === null ? null : speedUp(current, signal, now)
}

function slowDown(
  current: Throttle | null,
  signal: Extract<ThrottleSignal, { kind: 'throttled' }>,
  now: Date,
  fraction: number,
): Throttle {
  const asked = retryDelayMs({ attempt: 1, fraction, retryAfterMs: Math.max(pauseMs, signal.retryAfterMs) })
  const until = now.getTime() + asked
  if (current !== null && now.getTime() < Date.parse(current.throttledUntil)) {
    return until <= Date.parse(current.throttledUntil) ? current : { ...current, throttledUntil: iso(until) }
  }
  const rate = current?.ratePerSecond ?? Math.max(1, signal.submittedPerSecond)
  return {
    ratePerSecond: Math.max(slowestPerSecond, rate * cut),
    throttledUntil: iso(until),
    changedAt: now.toISOString(),
  }
}

function speedUp(current: Throttle, signal: Extract<ThrottleSignal, { kind: 'checked' }>, now: Date): Throttle | null {
  const pausedUntil = Date.parse(current.throttledUntil)
  const needed = Math.max(pausedUntil, signal.waitedAt === null ? 0 : Date.parse(signal.waitedAt))
  if (now.getTime() - needed >= forgetAfterMs) return null
  const rested = now.getTime() - Math.max(pausedUntil, Date.parse(current.changedAt))
  if (!signal.answered || rested < raiseEveryMs) return current
  const ratePerSecond = current.ratePerSecond * raise
  return ratePerSecond > fastestPerSecond ? null : { ...current, ratePerSecond, changedAt: now.toISOString() }
}

const iso = (ms: number): string => new Date(ms).toISOString()
