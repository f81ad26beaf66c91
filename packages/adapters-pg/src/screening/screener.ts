import { setTimeout } from 'node:timers/promises'
import type { Screening } from '@outlay/core/adapter'
import { thrownText } from '../database/thrown-text.ts'
import type { Guard } from '../operations/guard.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import { type AnswerWriterOptions, startAnswerWriter } from './answer-writer.ts'
import type { LeasedScreening, ScreeningStore } from './screenings.ts'
import { createShares } from './shares.ts'

/** Pause between checks for transfers that are due to be screened, in milliseconds. */
const pauseMs = 500

/** How long fewer than half of the calls are free before a lease for them is worth it, in milliseconds. */
const refillMs = 3

/** How much longer than a call its lease is, in milliseconds: the answer has to be written. */
const leaseBeyondMs = 30_000

/** How long aborted calls may take to end, and what they came to may take to be written, when the engine stops, in milliseconds. */
const lastWritesMs = 6_000

/** What a screener works with. */
export interface ScreenerOptions<Tx> extends AnswerWriterOptions<Tx> {
  readonly screenings: Omit<ScreeningStore<Tx>, 'port'>
  readonly screening: Screening
  readonly guard: Pick<Guard, 'isFamiliar'>
  /** Calls at once. */
  readonly concurrency: number
  /** Name of this worker. */
  readonly worker: string
}

/**
 * Starts the loop that screens transfers which are held for that: it leases some, asks the screener about each, and writes the answers
 * together. A call ends when its answer has come. While no call gives an answer, only one is made at a time.
 */
export function startScreener<Tx>(options: ScreenerOptions<Tx>): Loop {
  const { screenings, guard, logger, concurrency } = options
  const { longestMs } = options.screening
  const abort = new AbortController()
  const shares = createShares(concurrency)
  const held = new Set<Promise<void>>()
  const writer = startAnswerWriter(options)
  const asking = createAsking(options, writer.add, abort.signal)
  let after = ''
  let freeAt: number | undefined
  const wake = () => {
    freeAt ??= performance.now()
    loop.wake()
  }
  const begin = (transfer: LeasedScreening) => {
    const { answered, written } = shares.begin(transfer.accountId)
    const onAnswered = () => {
      answered()
      wake()
    }
    const one = asking.ask(transfer, onAnswered).finally(() => {
      written()
      held.delete(one)
      wake()
    })
    held.add(one)
  }
  const loop = startLoop({
    name: 'screen',
    logger,
    loops: options.loops,
    async turn() {
      const limit = shares.room(asking.failures() < concurrency ? concurrency : 1)
      // In a copy, and after a restore, one that is held may have been paid.
      if (limit <= 0 || abort.signal.aborted || !guard.isFamiliar()) return pauseMs
      const waitMs = refillMs - (performance.now() - (freeAt ?? Number.NEGATIVE_INFINITY))
      if (limit < concurrency / 2 && waitMs > 0) return waitMs
      freeAt = undefined
      const { mostEach } = shares
      const from = after
      const lease = { after, limit, mostEach, underWay: shares.underWay(), leaseMs: longestMs + leaseBeyondMs }
      const { transfers, leased, next } = await screenings.lease(lease)
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
      await withinTime(Promise.all(held))
      if (held.size > 0)
        logger.warn(
          { transfers: held.size },
          'Some answers of screenings could not be written; their transfers stay held, and are asked about again.',
        )
      await writer.stop()
    },
  }
}

/** Makes what asks about one transfer and has the answer written, or notes that there is none. It never rejects. */
function createAsking<Tx>(
  { screenings, screening, logger, worker }: ScreenerOptions<Tx>,
  write: ReturnType<typeof startAnswerWriter>['add'],
  signal: AbortSignal,
) {
  // In a row, whatever they were about.
  let failures = 0
  const ask = async (transfer: LeasedScreening, onAnswered: () => void) => {
    const { id, accountId, ask } = transfer
    const { answer, failure } = await screening.screen(viewOf(transfer), signal)
    onAnswered()
    if (answer !== undefined) {
      if (failures > 0) logger.info({ failures }, 'The screener answers again.')
      failures = 0
      return write({ id, accountId, ask, answer, by: worker })
    }
    if (signal.aborted) return screenings.giveBack([transfer])
    failures += 1
    if (failures === 1) {
      const fields = { transferId: id, accountId, error: failure }
      logger.warn(fields, 'The screener gave no answer; the transfer stays held, and is asked about again.')
    }
    await screenings.fail(id, ask, failure, screening.pauseMs(transfer.failures + 1))
  }
  return {
    failures: () => failures,
    ask: (transfer: LeasedScreening, onAnswered: () => void): Promise<void> =>
      ask(transfer, onAnswered).catch((error: unknown) =>
        logger.warn(
          { transferId: transfer.id, error: thrownText(error) },
          'What a screening came to could not be written; the transfer stays held, and is asked about again.',
        ),
      ),
  }
}

/** What the host's code is given: an object of its own. */
const viewOf = ({ failures: _, ...transfer }: LeasedScreening) => transfer

/** Waits for it no longer than that: it has no database to be written to. */
async function withinTime(ended: Promise<unknown>): Promise<void> {
  const stopped = new AbortController()
  await Promise.race([ended, setTimeout(lastWritesMs, undefined, { signal: stopped.signal })])
  stopped.abort()
}
