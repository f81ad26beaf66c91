import type { Logger } from '@outlay/core'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { BatchStore } from './batches.ts'

/** Pause between two times that changes of batches are added up, in milliseconds: a completion is noticed so late at most. */
const pauseMs = 500

/** Starts the loop that adds up changes of batches, completes them, and makes due what waited for a resumed one. */
export function startBatchFolder<Tx>({
  batches,
  logger,
  onCompleted,
}: {
  readonly batches: Omit<BatchStore<Tx>, 'port'>
  readonly logger: Logger
  readonly onCompleted: () => void
}): Loop {
  return startLoop({
    name: 'batches',
    logger,
    async turn() {
      const completed = await batches.fold()
      if (completed > 0) {
        logger.debug({ completed }, 'Batches were completed.')
        onCompleted()
      }
      const woken = await batches.wakeResumed()
      return woken > 0 ? 1 : pauseMs
    },
  })
}
