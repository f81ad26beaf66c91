import type { Inspection } from '@outlay/adapters-pg'
import { type Backlog, OutlayError } from '@outlay/core'

/** A figure is kept for so many times the time that its read took: then its reads take at most a twentieth of one connection. */
const keptFor = 20

/** Longest time for which a figure is kept, in milliseconds. */
const longestMs = 300_000

/** How long a figure that is kept no more is given once more, while the next is read, in milliseconds. */
const overdueMs = 60_000

/** How long the failure of a read is kept for who asks next, in milliseconds. */
const failedMs = 60_000

/** Most figures that are kept; the one that was read least recently is forgotten. */
const mostKept = 200

/** How long a request waits for a figure of many transfers, in milliseconds. */
const patienceMs = 150

/** Most reads of many transfers at once. A request that has to ask again gives its place up, but its read keeps a connection, which payments need. */
const mostAtOnce = 2

/** When to ask again for a figure that is being read, in milliseconds. */
const retryAfterMs = 1_000

/** What a figure is read by: what takes long there is not ended at the limit of a request. */
export interface FigureReads {
  readonly inspection: Inspection<unknown>
  readonly backlog: () => Promise<Backlog>
}

/** What figures are made of. */
export interface FigureOptions {
  readonly reads: FigureReads
  /** Whether so many transfers wait or are under way that reading all of them takes long. */
  readonly isMany: () => Promise<boolean>
  readonly nowMs?: () => number
}

interface Figure {
  readonly value: unknown
  readonly begunAt: number
  readonly tookMs: number
}

/**
 * Reads a figure, or gives the one that was read a moment ago.
 * @throws OutlayError `service_unavailable` with a time to ask again, while a figure of many transfers is read for the first time
 */
export type Figures = <T>(name: string, read: (reads: FigureReads) => Promise<T>) => Promise<T>

const stillCounting = () =>
  new OutlayError(
    'service_unavailable',
    'Very many transfers wait, and they are being counted. Ask again in a moment.',
    { status: 503, retryAfterMs },
  )

/** Whether a promise is fulfilled in time. */
async function isInTime(begun: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), patienceMs)
  })
  try {
    return await Promise.race([begun.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Makes figures: reads of everything that waits, which take long where a million transfers do. Those who ask at once share one read.
 *
 * One of many transfers is kept for up to five minutes, and then whoever asks gets the old one once more while the next is read. Nobody waits for
 * the first one longer than a moment, and no more than two of many are read at once. A read that failed is not kept; whoever asks next has its error, if
 * nobody had.
 */
export function createFigures({ reads, isMany, nowMs = () => performance.now() }: FigureOptions): Figures {
  const known = new Map<string, Figure>()
  const underWay = new Map<string, Promise<unknown>>()
  const failed = new Map<string, { readonly error: unknown; readonly at: number }>()
  const put = <T>(map: Map<string, T>, name: string, value: T) => {
    map.delete(name)
    map.set(name, value)
    const [oldest] = map.keys()
    if (oldest !== undefined && map.size > mostKept) map.delete(oldest)
  }
  const keep = async (name: string, read: (reads: FigureReads) => Promise<unknown>) => {
    const begunAt = nowMs()
    try {
      const value = await (async () => read(reads))()
      const tookMs = nowMs() - begunAt
      if (await isMany()) put(known, name, { value, begunAt, tookMs })
      else known.delete(name)
      return value
    } catch (error) {
      known.delete(name)
      throw error
    } finally {
      underWay.delete(name)
    }
  }
  const start = <T>(name: string, read: (reads: FigureReads) => Promise<T>) => {
    const begun = underWay.get(name) ?? keep(name, read)
    underWay.set(name, begun)
    return begun as Promise<T>
  }
  /** Whether a read of that name may begin, or is under way. */
  const hasPlace = (name: string) => underWay.has(name) || underWay.size < mostAtOnce
  const isOneEnded = () => isInTime(Promise.race([...underWay.values()].map((one) => one.catch(() => undefined))))
  const readFirst = async <T>(name: string, read: (reads: FigureReads) => Promise<T>) => {
    const failure = failed.get(name)
    failed.delete(name)
    if (failure !== undefined && nowMs() - failure.at < failedMs) throw failure.error
    while (!hasPlace(name) && (await isMany())) {
      if (!(await isOneEnded()) && !hasPlace(name)) throw stillCounting()
    }
    const begun = start(name, read)
    if ((await isInTime(begun)) || !(await isMany())) return await begun
    begun.catch((error: unknown) => put(failed, name, { error, at: nowMs() }))
    throw stillCounting()
  }
  return async (name, read) => {
    const last = known.get(name)
    if (last === undefined) return await readFirst(name, read)
    const oldMs = nowMs() - last.begunAt - Math.min(longestMs, last.tookMs * keptFor)
    if (oldMs > overdueMs) return await readFirst(name, read)
    // Nobody waits for it, and who asks after a failure reads it anew.
    if (oldMs > 0 && hasPlace(name)) start(name, read).catch(() => undefined)
    return last.value as Awaited<ReturnType<typeof read>>
  }
}
