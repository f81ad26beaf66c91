/** Reads of payments that one process has under way, by rail. */
export interface RailReads {
  /**
   * Does `read`.
   * @throws Error at once, without a call of `read`, while the rail does not answer and another read of it is under way.
   */
  enter<T>(rail: string, signal: AbortSignal, read: () => Promise<T>): Promise<T>
}

/** Limits of {@link createRailReads}. */
export interface RailReadsOptions {
  /** With so many reads that hang at once, a rail does not answer. Default 4. */
  readonly mostHanging?: number | undefined
  /** A read that takes longer hangs, in milliseconds. Default 5,000. */
  readonly slowAfterMs?: number | undefined
}

interface ReadLimits {
  readonly mostHanging: number
  readonly slowAfterMs: number
}

interface ReadsOfRail {
  underWay: number
  hanging: number
  /** True from when too many hang until one is answered. One at a time finds out meanwhile. */
  isSilent: boolean
}

/**
 * Makes the counts. The engine reads the payments of an account a few at a time, whichever rails have them, and has one gateway for all: those that wait for a
 * rail that hangs would keep it from reading the others.
 */
export function createRailReads({ mostHanging = 4, slowAfterMs = 5_000 }: RailReadsOptions = {}): RailReads {
  const rails = new Map<string, ReadsOfRail>()
  return {
    async enter(rail, signal, read) {
      const counts = rails.get(rail) ?? { underWay: 0, hanging: 0, isSilent: false }
      rails.set(rail, counts)
      if (counts.isSilent && counts.underWay > 0)
        throw new Error(`The rail ${rail} does not answer reads; the payment is read again later.`)
      const end = count(counts, { mostHanging, slowAfterMs })
      signal.addEventListener('abort', end, { once: true })
      if (signal.aborted) end()
      try {
        return await read()
      } finally {
        // An error is an answer, too, unless it is that of who has given up.
        if (!signal.aborted) counts.isSilent = false
        signal.removeEventListener('abort', end)
        end()
        if (counts.underWay === 0 && !counts.isSilent) rails.delete(rail)
      }
    },
  }
}

/** Counts a read until its end, which the answer says. It may be given up, and never end by itself. */
function count(counts: ReadsOfRail, { mostHanging, slowAfterMs }: ReadLimits): () => void {
  let isOver = false
  let hangs = 0
  counts.underWay += 1
  const timer = setTimeout(() => {
    hangs = 1
    counts.hanging += 1
    if (counts.hanging >= mostHanging) counts.isSilent = true
  }, slowAfterMs)
  timer.unref()
  return () => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    counts.underWay -= 1
    counts.hanging -= hangs
  }
}
