/** Token buckets by key, in the memory of this process. */
export interface TokenBuckets {
  /** Takes a token. Returns 0, or how many milliseconds to wait when there is none. */
  take(key: string): number
  /** Gives a token back. */
  give(key: string): void
}

interface Bucket {
  tokens: number
  refilledAtMs: number
}

/** How many buckets there are at most. When there are more, the one that was used least recently is forgotten, which makes it full. */
const mostBuckets = 10_000

/** Makes {@link TokenBuckets}: each holds `burst` tokens and refills by `perSecond` in real time. */
export function createTokenBuckets(
  limit: { readonly perSecond: number; readonly burst: number },
  realTimeMs: () => number = () => performance.now(),
): TokenBuckets {
  const buckets = new Map<string, Bucket>()
  const refill = (key: string): Bucket => {
    const nowMs = realTimeMs()
    const known = buckets.get(key)
    if (known === undefined) return { tokens: limit.burst, refilledAtMs: nowMs }
    const passedMs = Math.max(0, nowMs - known.refilledAtMs)
    return { tokens: Math.min(limit.burst, known.tokens + (passedMs / 1000) * limit.perSecond), refilledAtMs: nowMs }
  }
  const keep = (key: string, bucket: Bucket): void => {
    buckets.delete(key)
    buckets.set(key, bucket)
    const [oldest] = buckets.keys()
    if (oldest !== undefined && buckets.size > mostBuckets) buckets.delete(oldest)
  }
  return {
    take(key) {
      const bucket = refill(key)
      const waitMs = bucket.tokens >= 1 ? 0 : ((1 - bucket.tokens) / limit.perSecond) * 1000
      if (waitMs === 0) bucket.tokens -= 1
      keep(key, bucket)
      return waitMs
    },
    give(key) {
      if (!buckets.has(key)) return
      const bucket = refill(key)
      bucket.tokens = Math.min(limit.burst, bucket.tokens + 1)
      keep(key, bucket)
    },
  }
}
