import type { Logger } from '@outlay/core'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { ClockJumpStore } from './clock-jumps.ts'

/** Pause between two reads of the clock, in milliseconds. */
const pauseMs = 2_000

/** What the clock may lose between two reads without being set back, in milliseconds: NTP corrects it. */
const toleranceMs = 30_000

/** How long rows that were locked or not committed when the clock was set back are searched for again, in milliseconds. */
const stragglersMs = 60_000

/** How old the recorded time may be while workers record it, in milliseconds. */
const recordedMs = 15_000

/** What a watch of the clock works with. */
export interface ClockWatchOptions {
  readonly clockJumps: ClockJumpStore
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  /** Time that only goes forward, in milliseconds. Default: that of this process. */
  readonly monotonicMs?: (() => number) | undefined
}

/**
 * Starts the loop that compares the clock of the database with time that only goes forward, and with the last time that a worker
 * recorded: a clock may go forward and back between two readings, or be set back while no worker runs. Leases, pauses and polls are
 * times of that clock: when it is set back by hours, everything would wait for as long.
 */
export function startClockWatch({
  clockJumps,
  logger,
  loops,
  monotonicMs = () => performance.now(),
}: ClockWatchOptions): Loop {
  let last: { readonly nowMs: number; readonly answeredMs: number } | undefined
  let jump: { readonly byMs: number; readonly untilMs: number } | undefined
  // A jump that was noticed, until one worker takes it; and one that this worker has taken, until it has moved the times.
  let noticedMs = 0
  let claimedMs = 0
  return startLoop({
    name: 'watch clock',
    logger,
    loops,
    async turn() {
      const askedMs = monotonicMs()
      const { nowMs, seenMs } = await clockJumps.read()
      // At least so much has passed between the two readings, however long the answers took.
      const sinceLastMs = last === undefined ? 0 : last.nowMs + (askedMs - last.answeredMs) - nowMs
      const backMs = Math.max(sinceLastMs, seenMs - nowMs)
      last = { nowMs, answeredMs: monotonicMs() }
      if (jump !== undefined && last.answeredMs < jump.untilMs) await clockJumps.setBack(jump.byMs, jump.byMs / 2)
      if (backMs > toleranceMs) noticedMs = Math.round(backMs)
      if (noticedMs > 0) {
        if (noticedMs > 2 * stragglersMs) jump = { byMs: noticedMs, untilMs: last.answeredMs + stragglersMs }
        // Where nobody has recorded a time lately, nothing says that another worker has moved the times, so this one does.
        if ((await clockJumps.claim()) || seenMs < nowMs - recordedMs) claimedMs = noticedMs
        noticedMs = 0
      }
      if (claimedMs > 0) {
        const moved = await clockJumps.setBack(claimedMs)
        logger.warn(
          { backMs: claimedMs, moved },
          'The clock of Postgres was set back; the engine moved the times that rows wait for.',
        )
        claimedMs = 0
      }
      return pauseMs
    },
  })
}
