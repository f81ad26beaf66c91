import { setTimeout } from 'node:timers/promises'
import type { Logger } from '@outlay/core'
import type { Settlement } from '@outlay/core/adapter'
import { hasSqlState } from '../database/lock-timeout.ts'
import type { SettleResults } from './attempts.ts'
import { lostHere } from './settler.ts'

/** Writes acceptances that came after their calls were abandoned: the service has those transfers, whatever was written since. */
export interface LateAcceptances {
  /** Tries until it is written. Rejects nothing and is not waited for: the pool may hang, or be closed by then. */
  record(settlement: Settlement): void
  /** Lets each that is not written have one more try. One that comes afterwards has one, too. */
  stop(): void
}

/** Pauses between tries, the first and the longest, in milliseconds. */
const pauseMs = { first: 250, longest: 60_000 }

/** Makes the writer of late acceptances of one worker. */
export function createLateAcceptances(options: {
  readonly settle: (settlements: readonly Settlement[]) => Promise<SettleResults>
  readonly logger: Logger
  readonly onSettled: () => void
}): LateAcceptances {
  const { logger } = options
  const stopped = new AbortController()
  const write = async (settlement: Settlement) => {
    const { transferId, attempt, remoteId } = settlement
    for (let tries = 0; ; tries += 1) {
      const isLast = stopped.signal.aborted
      const written = await tryWrite(options.settle, settlement)
      if (written === 'done') {
        options.onSettled()
        logger.info(
          { transferId, attempt, remoteId },
          'An acceptance came after its call was abandoned; it is recorded.',
        )
        return
      }
      if (written === 'gone') {
        logger.error(
          { transferId, attempt, remoteId },
          `An acceptance came after its call was abandoned, and ${lostHere}`,
        )
        return
      }
      if (isLast || written === 'refused') break
      const ms = Math.min(pauseMs.longest, pauseMs.first * 2 ** Math.min(tries, 10))
      // The wait for the next try keeps no process alive, and ends with the worker.
      await setTimeout(ms, undefined, { ref: false, signal: stopped.signal }).catch(() => undefined)
    }
    logger.error(
      { transferId, attempt, remoteId },
      'An acceptance came after its call was abandoned, and could not be recorded; the service has this transfer.',
    )
  }
  return {
    record: (settlement) => void write(settlement).catch(() => undefined),
    stop: () => stopped.abort(),
  }
}

async function tryWrite(
  settle: (settlements: readonly Settlement[]) => Promise<SettleResults>,
  settlement: Settlement,
): Promise<'done' | 'again' | 'refused' | 'gone'> {
  try {
    const [result] = (await settle([settlement])).values()
    if (result === 'locked') return 'again'
    return result === 'gone' ? 'gone' : 'done'
  } catch (error) {
    return hasSqlState(error, /^(22|23|54)/) ? 'refused' : 'again'
  }
}
