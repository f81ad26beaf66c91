/** Which keys this process is working on, so that a second request waits in memory and holds no connection. */
export interface InFlight {
  /** Waits for the work that is registered under the key, if any. `free`, `ended`, or `timeout` past the bound. */
  wait(key: string): Promise<'free' | 'ended' | 'timeout'>
  /** Does work, registered under the key until it ends unless other work is registered there. */
  track<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Makes an {@link InFlight} whose waits last at most `waitMs`. */
export function createInFlight(waitMs: number): InFlight {
  const running = new Map<string, Promise<unknown>>()
  return {
    async wait(key) {
      const work = running.get(key)
      if (work === undefined) return 'free'
      return await settledWithin(work, waitMs)
    },
    async track(key, work) {
      if (running.has(key)) return await work()
      const promise = work()
      running.set(key, promise)
      try {
        return await promise
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
