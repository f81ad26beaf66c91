import type { Happening } from './course.ts'

/** How long something is waited for until it is passed over, in milliseconds. */
export interface Patience {
  /** What comes next and has not begun. */
  readonly ms: number
  /** What is under way and has not ended. */
  readonly endMs: number
  /** What comes next when what came before it did not come about either. */
  readonly shortMs: number
  /** After so many that did not come about, nothing is waited for any more. */
  readonly misses: number
}

/** An order that is gone through. */
export type Line = ReturnType<typeof createLine>

/** Goes through an order, and waits for what is next no longer than patience allows. */
export function createLine(earlier: readonly Happening[], patience: Patience) {
  const done = new Set<number>()
  const waiting = new Set<() => void>()
  const underWay = new Set<number>()
  const counts = { kept: 0, missed: 0, firstMissed: undefined as Happening | undefined }
  let next = 0
  let hasMissed = false
  let timer: NodeJS.Timeout | undefined
  /** Counts the patience for what is next, once. */
  const wind = () => {
    if (timer !== undefined || next >= earlier.length || waiting.size === 0) return
    const ms = underWay.has(next) ? patience.endMs : hasMissed ? patience.shortMs : patience.ms
    timer = setTimeout(() => (waiting.size > 0 ? skip() : unwind()), ms)
  }
  const unwind = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const advance = () => {
    const from = next
    while (done.has(next)) next += 1
    if (next === from) return
    unwind()
    for (const check of [...waiting]) check()
    wind()
  }
  const skip = () => {
    hasMissed = true
    counts.missed += 1
    counts.firstMissed ??= earlier[next]
    if (counts.missed > patience.misses) return end()
    done.add(next)
    advance()
  }
  const end = () => {
    next = earlier.length
    unwind()
    for (const check of [...waiting]) check()
  }
  return {
    counts,
    done,
    underWay,
    isOver: () => next >= earlier.length,
    first: () => next,
    end,
    /** Something has happened. */
    keep(index: number) {
      underWay.delete(index)
      if (!done.has(index)) {
        hasMissed = false
        counts.kept += 1
      }
      done.add(index)
      advance()
    },
    /** Resolves with true when everything before an index has happened, and with false when that takes too long. */
    reach(index: number, withinMs?: number) {
      const reached = waitIn(waiting, () => next >= index, withinMs)
      wind()
      return reached
    },
  }
}

/** Waits until a condition holds; returns whether it held within a time. */
const waitIn = (waiting: Set<() => void>, isSo: () => boolean, withinMs?: number) =>
  new Promise<boolean>((resolve) => {
    const settle = (answer: boolean) => {
      clearTimeout(late)
      waiting.delete(check)
      resolve(answer)
    }
    const check = () => {
      if (isSo()) settle(true)
    }
    const late = withinMs === undefined ? undefined : setTimeout(() => settle(false), withinMs)
    waiting.add(check)
    check()
  })
