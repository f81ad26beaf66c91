import type { Logger } from '@outlay/core'
import type { ClockJumpStore } from '../clock-jumps.ts'
import { type Loop, startLoop } from './loop.ts'

/** Pause between two looks at the clock, in milliseconds. */
const pauseMs = 2_000

/** What the clock may lose between two looks without being set back, in milliseconds: NTP corrects it, and questions take time. */
const toleranceMs = 30_000

/** What a watch of the clock works with. */
export interface ClockWatchOptions {
  readonly clockJumps: ClockJumpStore
  readonly logger: Logger
}

/**
 * Starts the loop that compares the clock of the database with time that only goes forward. Leases, pauses and looks are moments
 * of that clock: when it is set back by hours, they would hold everything up for as long.
 */
export function startClockWatch({ clockJumps, logger }: ClockWatchOptions): Loop {
  let last: { readonly nowMs: number; readonly atMs: number } | undefined
  return startLoop({
    name: 'watch clock',
    logger,
    async turn() {
      const nowMs = await clockJumps.now()
      const atMs = performance.now()
      const backMs = last === undefined ? 0 : last.nowMs + (atMs - last.atMs) - nowMs
      if (backMs > toleranceMs) {
        const moved = await clockJumps.setBack(Math.round(backMs))
        logger.warn(
          { backMs: Math.round(backMs), moved },
          'The clock of Postgres was set back; what waited for it goes on.',
        )
      }
      last = { nowMs, atMs }
      return pauseMs
    },
  })
}
