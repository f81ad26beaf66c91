import { setTimeout } from 'node:timers/promises'
import type { Logger, ScreeningAnswer } from '@outlay/core'
import type { Screening } from '@outlay/core/adapter'
import { thrownText } from '../database/thrown-text.ts'
import type { Guard } from '../operations/guard.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { AnswerFate, LeasedScreening, ScreeningStore } from './screenings.ts'

/** Pause between checks for transfers that are due to be screened, in milliseconds. */
const pauseMs = 500

/** How much longer than a call its lease is, in milliseconds: the answer has to be written. */
const leaseBeyondMs = 30_000

/** Pauses between tries to write an answer about a transfer that somebody has locked, in milliseconds. */
const lockedPausesMs = [100, 500, 1_000, 2_000, 5_000]

/** What a screener works with. */
export interface ScreenerOptions<Tx> {
  readonly screenings: Omit<ScreeningStore<Tx>, 'port'>
  readonly screening: Screening
  readonly guard: Pick<Guard, 'isFamiliar'>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  /** Calls at once. */
  readonly concurrency: number
  /** Name of this worker. */
  readonly worker: string
  /** Called when an answer was written. */
  readonly onAnswered: () => void
}

/**
 * Starts the loop that screens transfers which are held for that: it leases some, asks the screener about each, and writes the answer. One
 * account has half of the calls at most. While no call gives an answer, only one is made at a time.
 */
export function startScreener<Tx>(options: ScreenerOptions<Tx>): Loop {
  const { screenings, screening, guard, logger, concurrency } = options
  const abort = new AbortController()
  const underWay = new Map<string, number>()
  const calls = new Set<Promise<void>>()
  const mostEach = Math.max(1, Math.ceil(concurrency / 2))
  // In a row, whatever they were about.
  let failures = 0
  let after = ''
  const ask = async (transfer: LeasedScreening) => {
    const { answer, failure } = await screening.screen(viewOf(transfer), abort.signal)
    if (answer !== undefined) {
      if (failures > 0) logger.info({ failures }, 'The screener answers again.')
      failures = 0
      await writeAnswer(options, transfer, answer, abort.signal)
      return
    }
    if (abort.signal.aborted) return screenings.giveBack([transfer])
    failures += 1
    if (failures === 1) {
      const fields = { transferId: transfer.id, accountId: transfer.accountId, error: failure }
      logger.warn(fields, 'The screener gave no answer; the transfer stays held, and is asked about again.')
    }
    await screenings.fail(transfer.id, transfer.ask, failure, screening.pauseMs(transfer.failures + 1))
  }
  const begin = (transfer: LeasedScreening) => {
    const { accountId, id } = transfer
    underWay.set(accountId, (underWay.get(accountId) ?? 0) + 1)
    const call = ask(transfer)
      .catch((error: unknown) =>
        logger.warn(
          { transferId: id, error: thrownText(error) },
          'What a screening came to could not be written; the transfer stays held, and is asked about again.',
        ),
      )
      .finally(() => {
        const left = (underWay.get(accountId) ?? 1) - 1
        if (left > 0) underWay.set(accountId, left)
        else underWay.delete(accountId)
        calls.delete(call)
        loop.wake()
      })
    calls.add(call)
  }
  const loop = startLoop({
    name: 'screen',
    logger,
    loops: options.loops,
    async turn() {
      const limit = (failures < concurrency ? concurrency : 1) - calls.size
      // In a copy, and after a restore, one that is held may have been paid.
      if (limit <= 0 || abort.signal.aborted || !guard.isFamiliar()) return pauseMs
      const leaseMs = screening.longestMs + leaseBeyondMs
      const from = after
      const { transfers, leased, next } = await screenings.lease({ after, limit, mostEach, underWay, leaseMs })
      after = next ?? ''
      for (const transfer of transfers) begin(transfer)
      // Nothing is due of all accounts where it has come from the first to the last of them.
      return leased === 0 && from === '' && next === undefined ? pauseMs : 0
    },
  })
  return {
    wake: () => loop.wake(),
    async stop() {
      abort.abort(new Error('The engine stops.'))
      await loop.stop()
      await Promise.all(calls)
    },
  }
}

/** What the host's code is given: an object of its own. */
const viewOf = ({ failures: _, ...transfer }: LeasedScreening) => transfer

async function writeAnswer<Tx>(
  { screenings, logger, worker, onAnswered }: ScreenerOptions<Tx>,
  { id, accountId, ask }: LeasedScreening,
  answer: ScreeningAnswer,
  signal: AbortSignal,
): Promise<void> {
  const given = { ...answer, by: worker }
  let fate: AnswerFate = await screenings.answer(id, ask, given)
  for (const pause of lockedPausesMs) {
    if (fate !== 'locked' || signal.aborted) break
    await setTimeout(pause, undefined, { signal, ref: false }).catch(() => undefined)
    fate = await screenings.answer(id, ask, given)
  }
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
        'Somebody keeps a transfer locked; the answer of its screening is not written, and it is asked about again.',
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
  onAnswered()
}
