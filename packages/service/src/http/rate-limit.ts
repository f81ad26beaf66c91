import { OutlayError } from '@outlay/core'
import { createTokenBuckets } from './token-buckets.ts'

/** A token bucket per client, in the memory of this process. */
export interface RateLimiter {
  /** Spends one token. Throws OutlayError `rate_limited` with the delay when the bucket is empty. */
  spend(clientId: string): void
}

/** Makes a {@link RateLimiter}: buckets hold `burst` tokens and refill by `perSecond` in real time. */
export function createRateLimiter(
  limit: { readonly perSecond: number; readonly burst: number },
  realTimeMs?: () => number,
): RateLimiter {
  const buckets = createTokenBuckets(limit, realTimeMs)
  return {
    spend(clientId) {
      const retryAfterMs = buckets.take(clientId)
      if (retryAfterMs === 0) return
      const message = 'Too many requests; send this one again after a pause, with the same key.'
      throw new OutlayError('rate_limited', message, { retryAfterMs })
    },
  }
}
