/** Longest time for which a figure is shown that was read before, in milliseconds. */
const longestMs = 60_000

/** A figure is kept for so many times the time that its read took: then its reads take at most a twentieth of one connection. */
const keptFor = 20

/** Transfers that wait or are under way, from which on reading all of them takes long. */
const many = 50_000

/** Most figures that are kept; the one that was read least recently is forgotten. */
const mostKept = 200

/** A figure, and of how many transfers that wait or are under way it is. */
export interface Counted<T> {
  readonly value: T
  readonly transfers: number
}

interface Figure {
  readonly counted: Counted<unknown>
  readonly begunAt: number
  readonly tookMs: number
}

/** Reads a figure, or gives the one that was read a moment ago. */
export type Figures = <T>(name: string, read: () => Promise<Counted<T>>) => Promise<T>

/**
 * Makes figures: reads of everything that waits, which take long where a million transfers do. Those who ask at once share one read. One of many transfers is kept
 * for up to a minute, and then whoever asks gets the old one once more while the next is read. A read that failed is not kept.
 */
export function createFigures(nowMs: () => number = () => performance.now()): Figures {
  const known = new Map<string, Figure>()
  const underWay = new Map<string, Promise<Counted<unknown>>>()
  const keep = async (name: string, read: () => Promise<Counted<unknown>>) => {
    const begunAt = nowMs()
    try {
      const counted = await read()
      known.delete(name)
      if (counted.transfers >= many) known.set(name, { counted, begunAt, tookMs: nowMs() - begunAt })
      const [oldest] = known.keys()
      if (oldest !== undefined && known.size > mostKept) known.delete(oldest)
      return counted
    } catch (error) {
      known.delete(name)
      throw error
    } finally {
      underWay.delete(name)
    }
  }
  const start = (name: string, read: () => Promise<Counted<unknown>>) => {
    const begun = underWay.get(name) ?? keep(name, read)
    underWay.set(name, begun)
    return begun
  }
  return async <T>(name: string, read: () => Promise<Counted<T>>) => {
    const last = known.get(name)
    const ageMs = last === undefined ? 0 : nowMs() - last.begunAt
    if (last === undefined || ageMs > 2 * longestMs) return (await start(name, read)).value as T
    // Nobody waits for it, and who asks after a failure reads it anew.
    if (ageMs > Math.min(longestMs, last.tookMs * keptFor)) start(name, read).catch(() => undefined)
    return last.counted.value as T
  }
}
