import { OutlayError } from '@outlay/core'

/** A token bucket per client, in the memory of this process. */
export interface RateLimiter {
  /** Spends one token. Throws OutlayError `rate_limited` with the delay when the bucket is empty. */
  spend(clientId: string): void
}

interface Bucket {
  tokens: number
  refilledAtMs: number
}

const mostBuckets = 10_000

/** Makes a {@link RateLimiter}: buckets hold `burst` tokens and refill by `perSecond` in real time. */
export function createRateLimiter(
  limit: { readonly perSecond: number; readonly burst: number },
  realTimeMs: () => number = () => performance.now(),
): RateLimiter {
  const buckets = new Map<string, Bucket>()
  return {
    spend(clientId) {
      const nowMs = realTimeMs()
      const bucket = buckets.get(clientId) ?? { tokens: limit.burst, refilledAtMs: nowMs }
      const passedMs = Math.max(0, nowMs - bucket.refilledAtMs)
      bucket.tokens = Math.min(limit.burst, bucket.tokens + (passedMs / 1000) * limit.perSecond)
      bucket.refilledAtMs = nowMs
      if (!buckets.has(clientId)) {
        if (buckets.size >= mostBuckets) dropFull(buckets, limit, nowMs)
        buckets.set(clientId, bucket)
      }
      if (bucket.tokens < 1)
        throw new OutlayError(
          'rate_limited',
          'Too many requests; send this one again after a pause, with the same key.',
          {
            retryAfterMs: ((1 - bucket.tokens) / limit.perSecond) * 1000,
          },
        )
      bucket.tokens -= 1
    },
  }
}

function dropFull(buckets: Map<string, Bucket>, limit: { perSecond: number; burst: number }, nowMs: number): void {
  for (const [clientId, bucket] of buckets) {
    const tokens = bucket.tokens + ((nowMs - bucket.refilledAtMs) / 1000) * limit.perSecond
    if (tokens >= limit.burst) buckets.delete(clientId)
  }
}
