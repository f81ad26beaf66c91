import type { Logger } from '@outlay/core'
import type { UnknownLimit } from '@outlay/core/adapter'
import type { SubmissionStore } from '../dispatch/submissions.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'

/** Pause between two sweeps, in milliseconds. */
const pauseMs = 5_000

/** Pause after a page, as a multiple of the time that it took: a sweep of a long backlog takes minutes. */
const restPerPage = 20

/** Transfers read in one statement. */
const pageSize = 5_000

/** What the sweep works with. */
export interface UnknownSweeperOptions {
  readonly submissions: SubmissionStore
  readonly unknownLimits: readonly UnknownLimit[]
  readonly onBlocked: () => void
  readonly logger: Logger
  readonly loops?: LoopList | undefined
}

/** Starts the loop that blocks unclaimed transfers, such as those of a paused account, once their outcome is unknown for too long. */
export function startUnknownSweeper({
  submissions,
  unknownLimits,
  onBlocked,
  logger,
  loops,
}: UnknownSweeperOptions): Loop {
  let after = ''
  return startLoop({
    name: 'sweep unknown outcomes',
    logger,
    loops,
    async turn() {
      const startedAt = performance.now()
      const { blocked, last } = await submissions.blockUnknown(after, pageSize, unknownLimits)
      if (blocked > 0) {
        logger.warn({ blocked }, 'The outcomes of some transfers stayed unknown; a person has to decide.')
        onBlocked()
      }
      after = last ?? ''
      return last === null ? pauseMs : (performance.now() - startedAt) * restPerPage
    },
  })
}
