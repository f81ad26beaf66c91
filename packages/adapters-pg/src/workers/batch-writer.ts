import type { Logger } from '@outlay/core'
import { hasSqlState, isLockTimeout, rowStateOf } from '../database/lock-timeout.ts'
import { startLoop } from './loop.ts'
import type { LoopList } from './loop-list.ts'

/** Collects items for some milliseconds and writes them together. */
export interface BatchWriter<T, R> {
  /** Resolves with what became of it when it is written or given up. */
  add(item: T): Promise<R | 'locked'>
  /** How many items wait for a lock on their rows, or until Postgres refuses them no longer. */
  locked(): number
  /** Ends. An item that is not written by then is lost, and its promise stays open. */
  stop(): Promise<void>
}

/** What a batch writer works with. */
export interface BatchWriterOptions<T, R> {
  readonly name: string
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  /** Writes items in one transaction; returns in their order what became of each: `locked` for one that is to be written again. */
  write(items: readonly T[]): Promise<readonly (R | 'locked')[]>
  /** Called for an item that Postgres refuses for its data; returns what became of it. */
  readonly refuse: (item: T, error: unknown) => R
  /** Called for an item that Postgres refuses otherwise, and that is to be written again: each time. */
  readonly putOff: (item: T, error: unknown) => void
  /** States of errors for which a single item is given up. Default: a data exception, an integrity violation, or a limit of Postgres. */
  readonly refusals?: RegExp | undefined
  /** How often an item is tried that is locked or put off. Default: until it is written. */
  readonly mostTries?: number | undefined
  readonly onWritten: () => void
}

/** How long items are collected, in milliseconds. */
const gatherMs = 4

/** Longest pause behind a batch, in milliseconds: a batch is followed by a pause of its own length. A busy database so gets fewer and larger ones. */
const maxRestMs = 25

/** Most items in one transaction. */
const maxBatch = 500

/** Pauses before an item with locked rows is written again, the first and the longest, in milliseconds. */
const lockedPauseMs = { first: 50, longest: 2_000 }

/** The longest pause before one that was put off is written again, in milliseconds: each try is a statement of its own, and often two. */
const longestPutOffMs = 30_000

const dataRefusals = /^(22|23|54)/

/** An item that is not written yet. */
interface Unwritten<T, R> {
  readonly item: T
  readonly done: (result: R | 'locked') => void
  /** How often it was found locked, or was put off. */
  readonly tries: number
  /** When the next try is due, by the monotonic clock of this process. */
  readonly dueAt: number
}

/**
 * Starts a batch writer. It retries a batch until it is written: the items exist nowhere else. Postgres would refuse a batch with
 * bad data for ever, and all behind it would wait; so the writer halves it until it finds the bad item, and gives that up.
 *
 * A host's transaction may lock a row, and stay open without a limit; a host's trigger may refuse one. The writer defers that item, writes the
 * others, and retries it less and less often.
 */
export function startBatchWriter<T, R>(options: BatchWriterOptions<T, R>): BatchWriter<T, R> {
  const { name, logger, loops, mostTries = Number.POSITIVE_INFINITY } = options
  let pending: Unwritten<T, R>[] = []
  let locked: Unwritten<T, R>[] = []
  let failing = false
  let most = maxBatch
  let restsUntil = 0
  const finish = (batch: readonly Unwritten<T, R>[], { results, longestMs = lockedPauseMs.longest }: Written<R>) => {
    for (const [place, one] of batch.entries()) {
      const result = results[place] as R | 'locked'
      if (result === 'locked' && one.tries + 1 < mostTries) locked.push(defer(one, longestMs))
      else one.done(result)
    }
  }
  const pauseMs = () => {
    if (pending.length > 0) return pending.length >= most ? 0 : gatherMs
    const dueAt = Math.min(...locked.map((one) => one.dueAt), Number.POSITIVE_INFINITY)
    return Math.min(60_000, Math.max(gatherMs, dueAt - performance.now()))
  }
  const loop = startLoop({
    name,
    logger,
    loops,
    async turn() {
      const now = performance.now()
      if (now < restsUntil && pending.length < most) return Math.ceil(restsUntil - now)
      const fresh = pending.slice(0, most)
      const again = locked.filter((one) => one.dueAt <= now).slice(0, most - fresh.length)
      const batch = [...fresh, ...again]
      if (batch.length === 0) return pauseMs()
      failing = true
      const written = await writeBatch(options, batch)
      if (written === undefined) most = Math.ceil(batch.length / 2)
      failing = false
      if (written === undefined) return 0
      most = Math.min(maxBatch, most * 2)
      pending = pending.slice(fresh.length)
      locked = locked.filter((one) => !again.includes(one))
      finish(batch, written)
      options.onWritten()
      restsUntil = performance.now() + Math.min(performance.now() - now, maxRestMs)
      return pauseMs()
    },
  })
  return {
    add: (item) =>
      new Promise((done) => {
        pending.push({ item, done, tries: 0, dueAt: 0 })
        if (!failing) loop.wake()
      }),
    locked: () => locked.length,
    stop: () => loop.stop(),
  }
}

function defer<T, R>(one: Unwritten<T, R>, longestMs: number): Unwritten<T, R> {
  const pauseMs = Math.min(longestMs, lockedPauseMs.first * 2 ** Math.min(one.tries, 10))
  return { ...one, tries: one.tries + 1, dueAt: performance.now() + pauseMs }
}

/** What became of the items of a batch, and how long those that are `locked` may wait at most. */
interface Written<R> {
  readonly results: readonly (R | 'locked')[]
  readonly longestMs?: number
}

/** Writes a batch; `undefined` when a smaller one has to be tried, since one of its items is refused or locked. */
async function writeBatch<T, R>(
  { write, refuse, putOff, refusals = dataRefusals }: BatchWriterOptions<T, R>,
  batch: readonly Unwritten<T, R>[],
): Promise<Written<R> | undefined> {
  try {
    return { results: await write(batch.map(({ item }) => item)) }
  } catch (error) {
    const isLocked = isLockTimeout(error)
    if (!isLocked && rowStateOf(error) === undefined) throw error
    const [first, second] = batch
    if (first === undefined || second !== undefined) return undefined
    if (isLocked) return { results: ['locked'] }
    if (hasSqlState(error, refusals)) return { results: [refuse(first.item, error)] }
    putOff(first.item, error)
    return { results: ['locked'], longestMs: longestPutOffMs }
  }
}
