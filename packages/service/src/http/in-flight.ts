/** Keys that this process is working on, so that a second request waits in memory and holds no connection. */
export interface InFlight {
  /** Waits for the work that is registered under the key, if any. False when it takes longer than the limit. */
  wait(key: string): Promise<boolean>
  /** Does work, registered under the key until it ends unless other work is registered there. */
  track<T>(key: string, work: () => Promise<T>): Promise<T>
  /** True when work under the key began here lately. A hint that a request is a repetition; a false answer proves nothing. */
  wasTracked(key: string): boolean
}

/** How many keys are remembered for `wasTracked`. */
const mostRemembered = 10_000

/** Makes an {@link InFlight} whose waits last at most `waitMs`. */
export function createInFlight(waitMs: number): InFlight {
  const running = new Map<string, Promise<unknown>>()
  const tracked = new Set<string>()
  const remember = (key: string): void => {
    tracked.delete(key)
    tracked.add(key)
    const [oldest] = tracked
    if (oldest !== undefined && tracked.size > mostRemembered) tracked.delete(oldest)
  }
  return {
    wasTracked: (key) => tracked.has(key),
    async wait(key) {
      const work = running.get(key)
      return work === undefined || (await endsWithin(work, waitMs))
    },
    async track(key, work) {
      remember(key)
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
