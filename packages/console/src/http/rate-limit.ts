import { OutlayError } from '@outlay/core'

/** How many requests one person may send. */
export interface RateLimit {
  /** Requests per second in the long run. */
  readonly perSecond: number
  /** Requests at once. */
  readonly burst: number
}

/** Most people whose requests are counted; the one that was counted least recently is forgotten, and may send a burst again. */
const mostActors = 10_000

/** Makes the limit of each person's requests, in the memory of this process. It throws `rate_limited` with the time to wait. */
export function createRateLimit(
  { perSecond, burst }: RateLimit,
  nowMs: () => number = () => performance.now(),
): (actor: string) => void {
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  return (actor) => {
    const atMs = nowMs()
    const known = buckets.get(actor) ?? { tokens: burst, atMs }
    const tokens = Math.min(burst, known.tokens + (Math.max(0, atMs - known.atMs) / 1_000) * perSecond)
    const isAllowed = tokens >= 1
    buckets.delete(actor)
    buckets.set(actor, { tokens: isAllowed ? tokens - 1 : tokens, atMs })
    const [oldest] = buckets.keys()
    if (oldest !== undefined && buckets.size > mostActors) buckets.delete(oldest)
    if (isAllowed) return
    const retryAfterMs = ((1 - tokens) / perSecond) * 1_000
    throw new OutlayError('rate_limited', 'Too many requests of this person.', { retryAfterMs })
  }
}
