import type { Logger } from '@outlay/core'
import type { LimitSweepStore } from '../control/limit-sweeps.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'

/** Pause between two checks of what limits hold, in milliseconds: what fits goes so late at most. */
const pauseMs = 2_000

/** Pause between two deletions of what is long over, in milliseconds. */
const prunePauseMs = 600_000

/** What the sweeper works with. */
export interface LimitSweeperOptions {
  readonly limits: LimitSweepStore
  readonly logger: Logger
  readonly loops?: LoopList | undefined
}

/** Starts the loops that give back what is counted of ended transfers, release what fits, and forget what is long over. */
export function startLimitSweeper({ limits, logger, loops }: LimitSweeperOptions): Loop {
  const sweep = startLoop({
    name: 'limits',
    logger,
    loops,
    async turn() {
      const { returned, released } = await limits.sweep()
      if (released > 0) logger.debug({ released }, 'Some transfers fit their limits now.')
      return returned + released > 0 ? 1 : pauseMs
    },
  })
  const prune = startLoop({
    name: 'forget limits',
    logger,
    loops,
    turn: async () => ((await limits.prune()) ? 0 : prunePauseMs),
  })
  return {
    wake: sweep.wake,
    async stop() {
      await Promise.all([sweep.stop(), prune.stop()])
    },
  }
}
