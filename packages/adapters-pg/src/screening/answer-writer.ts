import type { Logger } from '@outlay/core'
import { rowStateOf } from '../database/lock-timeout.ts'
import { type BatchWriter, startBatchWriter } from '../workers/batch-writer.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { AnswerFate, GivenAnswer, ScreeningStore } from './screenings.ts'

/** How often the answer about a transfer that somebody has locked is tried: for 7 seconds. */
const mostTries = 9

/**
 * Why Postgres refuses an answer for what it is about: its data, or what a trigger or a right of the host forbids. It is safe to give it up,
 * since the transfer stays held.
 */
const refusals = /^(22|23|42|54|P0)/

/** What an answer writer works with. */
export interface AnswerWriterOptions<Tx> {
  readonly screenings: Pick<ScreeningStore<Tx>, 'answer'>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  /** Called when answers were written. */
  readonly onAnswered: () => void
}

/** Starts what writes answers of calls together, and says in the log what became of each. */
export function startAnswerWriter<Tx>({
  screenings,
  logger,
  loops,
  onAnswered,
}: AnswerWriterOptions<Tx>): Pick<BatchWriter<GivenAnswer, void>, 'stop'> & { add(given: GivenAnswer): Promise<void> } {
  const writer = startBatchWriter<GivenAnswer, AnswerFate | 'given_up'>({
    ...{ name: 'screening answers', logger, loops, mostTries, refusals, onWritten: onAnswered },
    write: screenings.answer,
    refuse({ id, accountId }, error) {
      // The message may quote the refused data.
      const fields = { transferId: id, accountId, error: error instanceof Error ? error.name : typeof error }
      logger.error(
        fields,
        'Postgres refuses the answer of a screening; the transfer stays held, and is asked about again.',
      )
      return 'given_up'
    },
    putOff({ id, accountId }, error) {
      logger.warn(
        { transferId: id, accountId, code: rowStateOf(error) },
        'The answer of a screening could not be written; the transfer stays held.',
      )
    },
  })
  return {
    add: async (given) => logFate(logger, given, await writer.add(given)),
    stop: writer.stop,
  }
}

function logFate(logger: Logger, { id, accountId, answer }: GivenAnswer, fate: AnswerFate | 'given_up'): void {
  const fields = { transferId: id, accountId, result: answer.result, case: answer.case, note: answer.note }
  switch (fate) {
    case 'held':
      logger.warn(fields, 'A screening holds a transfer until somebody decides about its case.')
      break
    case 'refused':
      logger.warn(fields, 'A screening has refused a transfer; it ended as canceled.')
      break
    case 'locked':
      logger.warn(
        fields,
        'The answer of a screening could not be written, since somebody keeps its transfer locked or refuses it; it is asked about again.',
      )
      break
    case 'late':
      // Somebody has let it go, or ended it, while the screener was asked.
      if (answer.result !== 'pass')
        logger.error(
          fields,
          'A screening says that a transfer should not leave, which it holds no more; find out what became of it.',
        )
      break
    case 'released':
    case 'passed':
      logger.debug(fields, 'A screening has let a transfer pass.')
  }
}
