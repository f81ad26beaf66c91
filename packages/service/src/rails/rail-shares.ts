import { createBulkhead } from '../bulkhead.ts'

/** Where a submission goes: its rail, and the account that it is of. */
export interface SubmissionPlace {
  readonly rail: string
  readonly accountId: string
}

/** Shares of the rails in the submissions that one process has under way. */
export interface RailShares {
  /**
   * Does `submit` where the rail has a place. Otherwise it waits a moment for one, and answers `full`, or `left` when the signal fires
   * first; `submit` was not called then.
   */
  enter<T>(
    place: SubmissionPlace,
    signal: AbortSignal,
    submit: () => Promise<T>,
  ): Promise<T | typeof full | typeof left>
}

/** The answer to a submission that finds no place. */
export const full: unique symbol = Symbol('full')

/** The answer to a submission that does not wait for a place any more. */
export const left: unique symbol = Symbol('left')

/** Limits of {@link createRailShares}: those of the engine that submits. */
export interface RailSharesOptions {
  /** Submissions that the engine has under way at once, slow ones not counted. Default 100. */
  readonly concurrency?: number | undefined
  /** A submission that takes longer is slow, in milliseconds. Default 5,000. */
  readonly slowAfterMs?: number | undefined
}

/** How long a submission waits for a place, as a part of the time after which it would be slow for the engine, too. */
const waitPart = 0.2

/**
 * Makes the shares. The engine has one gateway for all rails and counts what hangs by account, so that a rail that hangs would throttle
 * its accounts at every other rail. So one rail never has as many under way as the engine has places, and half of the places are left to the
 * others while nobody knows yet whether any hangs. As in the engine, an account may have fewer at a rail, the more are slow there.
 */
export function createRailShares({ concurrency = 100, slowAfterMs = 5_000 }: RailSharesOptions = {}): RailShares {
  const half = Math.max(1, Math.floor(concurrency / 2))
  const bulkhead = createBulkhead({ mostCalls: half, mostWaiting: concurrency })
  const [slow, underWay] = [createCounts(), createCounts()]
  const mostOf = (rail: string) => {
    if (slow.get(rail) < half / 2) return half
    return slow.get(rail) < half ? Math.ceil(half / 10) : 1
  }
  const hasPlace = ({ rail, accountId }: SubmissionPlace) =>
    underWay.get(rail) < Math.max(1, concurrency - 1) && underWay.get(`${rail} ${accountId}`) < mostOf(rail)
  const begin = ({ rail, accountId }: SubmissionPlace) => {
    const leaves = [underWay.add(rail), underWay.add(`${rail} ${accountId}`)]
    return { slow: () => void leaves.push(slow.add(rail)), end: () => leaves.splice(0).map((leave) => leave()) }
  }
  return {
    async enter<T>(place: SubmissionPlace, signal: AbortSignal, submit: () => Promise<T>) {
      if (!hasPlace(place)) return full
      const answer = Promise.withResolvers<T | typeof full | typeof left>()
      const waiting = waitFor(signal, slowAfterMs * waitPart)
      const entered = bulkhead.enter(place.rail, waiting.signal, async () => {
        waiting.end()
        if (!hasPlace(place)) return answer.resolve(full)
        const counted = begin(place)
        const call = (async () => await submit())()
        answer.resolve(call)
        const ended = endOf(call, signal).then(counted.end)
        // One that is slow leaves its place to the next one, and is counted until it ends.
        if (!(await endsWithin(ended, slowAfterMs))) counted.slow()
      })
      // Without effect on one that has begun.
      entered.catch(() => answer.resolve(signal.aborted ? left : full))
      return await answer.promise
    },
  }
}

/** A signal that fires with another one, and after a time unless the wait has ended. */
function waitFor(signal: AbortSignal, limitMs: number) {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), limitMs)
  const leave = () => late.abort(signal.reason)
  if (signal.aborted) leave()
  signal.addEventListener('abort', leave, { once: true })
  const end = () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', leave)
  }
  late.signal.addEventListener('abort', end, { once: true })
  return { signal: late.signal, end }
}

/** Resolves when the call has ended, or is given up: the engine does not wait for it any more, and it may hang for ever. */
function endOf(call: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    call.then(end, end)
  })
}

/** False for what has not ended after so long. */
async function endsWithin(ended: Promise<unknown>, limitMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), limitMs)
  try {
    return await Promise.race([ended.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Makes counts by name. */
function createCounts() {
  const counts = new Map<string, number>()
  const get = (name: string) => counts.get(name) ?? 0
  return {
    get,
    /** Counts one more; returns a function that counts it no more. */
    add(name: string): () => void {
      counts.set(name, get(name) + 1)
      return () => {
        const left = get(name) - 1
        if (left === 0) counts.delete(name)
        else counts.set(name, left)
      }
    },
  }
}
