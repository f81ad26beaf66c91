import type { Pace, PaceNews } from '../ports/accounts.ts'
import { retryDelayMs } from '../retry.ts'

/** The rate is never lowered below this, in submissions per second: somebody has to find out that it is over. */
const slowestPerSecond = 0.1

/** What is left of the rate after a 429. */
const cut = 0.5

/** What an answer that is no 429 makes of the rate, once per {@link raiseEveryMs}. */
const raise = 1.1

/** Shortest time between two raises, in milliseconds. */
const raiseEveryMs = 1_000

/** A pace that nothing had to wait for is forgotten after this, in milliseconds. */
const forgetAfterMs = 60_000

/** Pause after a 429 that asks for none, in milliseconds. */
const pauseMs = 1_000

/**
 * Decides how far an account is slowed down. A 429 halves what it sends and holds all of it for as long as the service asked;
 * those that were on their way meanwhile only lengthen the hold. Then the rate grows by a tenth for each second in which the
 * service takes something, and it is forgotten when it was in nobody's way for a minute. `fraction` is for jitter.
 */
export function decidePace(current: Pace | null, news: PaceNews, now: Date, fraction: number): Pace | null {
  if (news.kind === 'throttled') return slowDown(current, news, now, fraction)
  return current === null ? null : speedUp(current, news, now)
}

function slowDown(
  current: Pace | null,
  news: Extract<PaceNews, { kind: 'throttled' }>,
  now: Date,
  fraction: number,
): Pace {
  const asked = retryDelayMs({ attempt: 1, fraction, retryAfterMs: Math.max(pauseMs, news.retryAfterMs) })
  const until = now.getTime() + asked
  if (current !== null && now.getTime() < Date.parse(current.heldUntil)) {
    return until <= Date.parse(current.heldUntil) ? current : { ...current, heldUntil: iso(until) }
  }
  const rate = current?.ratePerSecond ?? Math.max(1, news.submittedPerSecond)
  return {
    ratePerSecond: Math.max(slowestPerSecond, rate * cut),
    heldUntil: iso(until),
    changedAt: now.toISOString(),
  }
}

function speedUp(current: Pace, news: Extract<PaceNews, { kind: 'looked' }>, now: Date): Pace | null {
  const held = Date.parse(current.heldUntil)
  const needed = Math.max(held, news.waitedAt === null ? 0 : Date.parse(news.waitedAt))
  if (now.getTime() - needed >= forgetAfterMs) return null
  const rested = now.getTime() - Math.max(held, Date.parse(current.changedAt))
  if (!news.answered || rested < raiseEveryMs) return current
  return { ...current, ratePerSecond: current.ratePerSecond * raise, changedAt: now.toISOString() }
}

const iso = (ms: number): string => new Date(ms).toISOString()
