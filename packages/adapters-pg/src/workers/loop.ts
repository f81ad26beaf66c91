import type { Logger } from '@outlay/core'
import { thrownText } from '../database/thrown-text.ts'
import { type Alarm, createAlarm } from './alarm.ts'
import type { LoopList } from './loop-list.ts'

/** A loop that goes on until it is stopped, through every error. */
export interface Loop {
  /** Ends the pause before the next turn. */
  wake(): void
  /** Resolves when the turn under way has ended; no further one starts. */
  stop(): Promise<void>
}

/** What a loop does. */
export interface LoopOptions {
  readonly name: string
  readonly logger: Logger
  /** One turn; returns how long to pause in milliseconds, 0 for no pause. */
  readonly turn: () => Promise<number>
  /** Where the loop shows how far it is. Default: nowhere. */
  readonly loops?: LoopList | undefined
  /** How long the host's own code may keep a turn, in milliseconds. Default 0. */
  readonly hostMs?: number | undefined
}

/** Longest pause after errors in a row, in milliseconds. */
const maxErrorPauseMs = 2_000

/** Starts a loop. It logs an error of a turn and pauses, longer after each error in a row. */
export function startLoop(options: LoopOptions): Loop {
  const alarm: Alarm = createAlarm()
  let stopped = false
  let errors = 0
  let turns = 0
  let turnBeganAt: number | undefined
  const leave = options.loops?.add(() => ({
    name: options.name,
    turns,
    turnMs: turnBeganAt === undefined ? 0 : performance.now() - turnBeganAt,
    hostMs: options.hostMs ?? 0,
  }))
  const turn = async (): Promise<number> => {
    turns += 1
    turnBeganAt = performance.now()
    try {
      const pauseMs = await options.turn()
      errors = 0
      return pauseMs
    } catch (error) {
      errors += 1
      const message = thrownText(error)
      options.logger.warn(
        { loop: options.name, error: message, errors },
        'A turn failed; the loop repeats it after a pause.',
      )
      return Math.min(maxErrorPauseMs, 50 * 2 ** Math.min(errors, 10))
    } finally {
      turnBeganAt = undefined
    }
  }
  const run = async () => {
    while (!stopped) {
      const pauseMs = await turn()
      if (pauseMs > 0 && !stopped) await alarm.wait(pauseMs)
    }
    leave?.()
  }
  const running = run()
  return {
    wake: () => alarm.ring(),
    async stop() {
      stopped = true
      alarm.ring()
      await running
    },
  }
}
