import type { Logger } from '@outlay/core'
import type { Settlement } from '@outlay/core/adapter'
import { rowStateOf } from '../database/lock-timeout.ts'
import { logPaid } from '../transfers/paid-amounts.ts'
import { startBatchWriter } from '../workers/batch-writer.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { AttemptStore, SettleResult } from './attempts.ts'

/** Collects outcomes for some milliseconds and writes them together. */
export interface Settler {
  /** Resolves when the settlement is written, or when another worker has the transfer. */
  add(settlement: Settlement): Promise<void>
  /** How many outcomes wait for a lock on their transfers, or for a trigger of the host that refuses them. */
  locked(): number
  /** Ends. An outcome that is not written by then is lost. */
  stop(): Promise<void>
}

/** What is to be known when the enqueue of a transfer that the service accepted was lost. */
export const lostHere = 'this database has lost its transfer; the service has it, and a reconciliation adopts it.'

/**
 * Starts a settler. An outcome that Postgres refuses for its data is given up: the job then comes back, the outcome counts as unknown, and
 * the same key is sent again. One that the host's code refuses, such as a trigger, waits until it does so no longer: what was sent would be sent again
 * and again.
 */
export function startSettler(options: {
  readonly attempts: Pick<AttemptStore, 'settle'>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  readonly onSettled: () => void
}): Settler {
  const { attempts, logger, loops, onSettled } = options
  const writer = startBatchWriter<Settlement, SettleResult | 'refused' | undefined>({
    ...{ name: 'settle', logger, loops, onWritten: onSettled },
    async write(settlements) {
      const results = await attempts.settle(settlements)
      return settlements.map(({ transferId, attempt }) => results.get(`${transferId} ${attempt}`))
    },
    refuse({ transferId, attempt }, error) {
      // The message may quote the refused data.
      logger.error(
        { transferId, attempt, error: error instanceof Error ? error.name : typeof error },
        'Postgres refuses an outcome; the worker sends the same key again.',
      )
      return 'refused'
    },
    putOff({ transferId, attempt }, error) {
      logger.error(
        { transferId, attempt, code: rowStateOf(error) },
        'Postgres refuses an outcome for what a trigger, a right or a limit of the host says; the worker keeps the outcome, and writes it again.',
      )
    },
  })
  return {
    ...writer,
    add: async (settlement) => logResult(logger, settlement, await writer.add(settlement)),
  }
}

function logResult(logger: Logger, settlement: Settlement, result: SettleResult | 'refused' | undefined): void {
  const { transferId, attempt, remoteId } = settlement
  if (result === 'stale') {
    logger.warn({ transferId, attempt }, 'An outcome came too late: a newer attempt has the transfer.')
  }
  if (result === 'gone') {
    if (remoteId === null) logger.warn({ transferId, attempt }, 'An outcome came for a transfer that is lost here.')
    else logger.error({ transferId, attempt, remoteId }, `An acceptance came, and ${lostHere}`)
  }
  if (result === 'settled') logPaid(logger, settlement)
}
