import type { Logger } from '@outlay/core'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { ArchiveStore } from './archive.ts'

/** Pause between two steps, in milliseconds: archiving is not urgent and leaves the database to other work. */
const stepPauseMs = 500

/** Pause when no history is old enough, in milliseconds. */
const idlePauseMs = 3_600_000

/** Transfers in one step. */
const stepSize = 200

/** What an archiver works with. */
export interface ArchiverOptions {
  readonly archive: ArchiveStore
  readonly olderThanMs: number
  readonly logger: Logger
  readonly loops?: LoopList | undefined
}

/** Starts the loop that moves the histories of old transfers to the archive, a step at a time. */
export function startArchiver({ archive, olderThanMs, logger, loops }: ArchiverOptions): Loop {
  let after = ''
  let left = 0
  return startLoop({
    name: 'archive',
    logger,
    loops,
    async turn() {
      const { archived, referenced, last } = await archive.archive({
        olderThanMs,
        after,
        limit: stepSize,
        dryRun: false,
      })
      if (archived > 0) logger.debug({ archived }, 'The archiver moved the histories of old transfers to the archive.')
      left += referenced
      if (last === null && left > 0) {
        logger.warn({ referenced: left }, 'The archiver left histories to which foreign keys of the host refer.')
        left = 0
      }
      after = last ?? ''
      return last === null ? idlePauseMs : stepPauseMs
    },
  })
}
