/** Keys that this process is working on, so that a second request waits in memory and holds no connection. */
export interface InFlight {
  /** Waits for the work that is registered under the key, if any. False when it takes longer than the limit. */
  wait(key: string): Promise<boolean>
  /** Does work, registered under the key until it ends unless other work is registered there. */
  track<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Makes an {@link InFlight} whose waits last at most `waitMs`. */
export function createInFlight(waitMs: number): InFlight {
  const running = new Map<string, Promise<unknown>>()
  return {
    async wait(key) {
      const work = running.get(key)
      return work === undefined || (await endsWithin(work, waitMs))
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

async function endsWithin(work: Promise<unknown>, waitMs: number): Promise<boolean> {
  const ended = work.then(
    () => true,
    () => true,
  )
  let timer: NodeJS.Timeout | undefined
  const bound = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, waitMs, false)
  })
  try {
    return await Promise.race([ended, bound])
  } finally {
    clearTimeout(timer)
  }
}
