import type { Clock } from '@outlay/core'

/** A clock that moves only when a test moves it. */
export interface ManualClock extends Clock {
  /** Moves the clock by `ms` milliseconds and returns the new time; it never goes back. */
  advance(ms: number): Date
}

/** Makes a clock that stands at `start` (ISO 8601). Default: 2026-01-05T15:00:00.000Z, a Monday morning in New York. */
export function manualClock(start = '2026-01-05T15:00:00.000Z'): ManualClock {
  let nowMs = Date.parse(start)
  if (Number.isNaN(nowMs)) throw new Error(`Not a time: ${start}`)
  return {
    now: () => new Date(nowMs),
    advance: (ms) => {
      if (!(ms >= 0)) throw new Error(`A clock can only go forward, not by ${ms} ms.`)
      nowMs += ms
      return new Date(nowMs)
    },
  }
}
