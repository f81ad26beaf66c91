import type { Logger } from '@outlay/core'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { CountStore } from './counts.ts'

/** Pause between two checks whether there is something to count, in milliseconds. */
const pauseMs = 5_000

/** Pause after a step, as a multiple of the time that it took: after an outage there may be days to count. */
const restPerStep = 10

/** Pause between two deletions of what was kept for long enough, in milliseconds. */
const prunePauseMs = 600_000

/** What the counter works with. */
export interface CounterOptions {
  readonly counts: CountStore
  readonly logger: Logger
  readonly loops?: LoopList | undefined
}

/** Starts the loops that add up counts of transfers, and forget those that were kept for long enough. */
export function startCounter({ counts, logger, loops }: CounterOptions): Loop {
  const count = startLoop({
    name: 'counts',
    logger,
    loops,
    async turn() {
      const startedAt = performance.now()
      return (await counts.count()) ? Math.max(1, (performance.now() - startedAt) * restPerStep) : pauseMs
    },
  })
  const prune = startLoop({
    name: 'forget counts',
    logger,
    loops,
    turn: async () => ((await counts.prune()) ? 0 : prunePauseMs),
  })
  return {
    wake: count.wake,
    async stop() {
      await Promise.all([count.stop(), prune.stop()])
    },
  }
}
