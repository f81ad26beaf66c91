/**
 * Keys that this process is working on, so that a second request waits in memory and holds no connection, and keys that it has
 * worked on lately, so that a request reads such a key before it claims it.
 */
export interface InFlight {
  /**
   * Waits for the work that is registered under the key, if any: `ended`, or `timeout` past the limit. Without any, `ended` when
   * work under the key has ended lately, else `free`.
   */
  wait(key: string): Promise<'free' | 'ended' | 'timeout'>
  /** Does work, registered under the key until it ends unless other work is registered there. */
  track<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Maximum number of keys remembered after their work has ended: some megabytes at most. */
const mostEnded = 10_000

/** Makes an {@link InFlight} whose waits last at most `waitMs`. */
export function createInFlight(waitMs: number): InFlight {
  const running = new Map<string, Promise<unknown>>()
  const ended = new Set<string>()
  const remember = (key: string) => {
    ended.add(key)
    const [oldest] = ended
    if (ended.size > mostEnded && oldest !== undefined) ended.delete(oldest)
  }
  return {
    async wait(key) {
      const work = running.get(key)
      if (work === undefined) return ended.has(key) ? 'ended' : 'free'
      return await settledWithin(work, waitMs)
    },
    async track(key, work) {
      if (running.has(key)) return await work()
      const promise = work()
      running.set(key, promise)
      try {
        const result = await promise
        remember(key)
        return result
      } finally {
        running.delete(key)
      }
    },
  }
}

async function settledWithin(work: Promise<unknown>, waitMs: number): Promise<'ended' | 'timeout'> {
  const ended = work.then(
    () => 'ended' as const,
    () => 'ended' as const,
  )
  let timer: NodeJS.Timeout | undefined
  const bound = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(resolve, waitMs, 'timeout')
  })
  try {
    return await Promise.race([ended, bound])
  } finally {
    clearTimeout(timer)
  }
}
