import type { Logger } from '@outlay/core'
import type { WorkHandlers } from '@outlay/core/adapter'
import { withLockTimeout } from '../database/lock-timeout.ts'
import { thrownText } from '../database/thrown-text.ts'
import type { Throttler } from '../limits/throttler.ts'
import { readingLeaseMs, turnMs } from '../polling/list-reader.ts'
import { applyPage, type PageApplierOptions } from '../polling/page-applier.ts'
import { createAccountTasks } from '../workers/account-tasks.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { ReturnReading, ReturnReadingStore } from './return-readings.ts'

/** What returns are read with. */
export interface ReturnReaderOptions<Tx> extends PageApplierOptions<Tx> {
  readonly returnReadings: ReturnReadingStore
  readonly throttler: Pick<Throttler, 'isThrottled'>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  /** A poll that takes longer is slow, in milliseconds. */
  readonly slowAfterMs: number
}

/** Accounts that are read side by side, not counting slow ones. */
const accountsAtOnce = 2

/** Pause between checks for accounts whose reading may be due, in milliseconds. */
const pauseMs = 1_000

/** Pause between searches for accounts with complete transfers whose money may come back, in milliseconds. */
const findPauseMs = 300_000

/** How long after a decision about an account the next one follows, in milliseconds. */
const decidePauseMs = 6 * 3_600_000

/** Pause after a reading that failed, in milliseconds. */
const failurePauseMs = 900_000

/** Pause of an account that the service throttles, in milliseconds. */
const throttledPauseMs = 60_000

/** Transfers that are read one by one in one step. */
const singlesAtOnce = 100

/**
 * Starts the loop that reads what came back of complete transfers, for services whose webhooks did not say it: by pages of the lists of
 * their accounts, rarely, until their money cannot come back any more.
 */
export function startReturnReader<Tx>(options: ReturnReaderOptions<Tx>): Loop | undefined {
  const { returnReadings, logger, slowAfterMs, handlers } = options
  const { decideReturnReading } = handlers
  if (decideReturnReading === undefined) return undefined
  const abort = new AbortController()
  const tasks = createAccountTasks({ logger, size: accountsAtOnce, slowAfterMs, onFree: () => loop.wake() })
  let foundAt = Number.NEGATIVE_INFINITY
  const loop = startLoop({
    name: 'returns',
    logger,
    loops: options.loops,
    async turn() {
      if (performance.now() - foundAt >= findPauseMs) {
        await returnReadings.findAccounts()
        foundAt = performance.now()
      }
      const free = tasks.free()
      if (free <= 0) return pauseMs
      for (const account of await returnReadings.lease(free, readingLeaseMs, tasks.excluded(), handlers.gateways)) {
        if (!tasks.mayBegin(account.accountId)) {
          // Given back at once: no other worker could have it for as long as the lease.
          await returnReadings.defer(account.accountId, 0)
          continue
        }
        tasks.begin(account.accountId, () => readReturns(options, decideReturnReading, account, abort.signal))
      }
      return pauseMs
    },
  })
  return {
    wake: () => loop.wake(),
    async stop() {
      abort.abort(new Error('The engine stops.'))
      await loop.stop()
      await tasks.ended()
    },
  }
}

type DecideReading = NonNullable<WorkHandlers<unknown>['decideReturnReading']>

/** Goes on with the reading of an account's returns, or begins one if it is due. */
async function readReturns<Tx>(
  options: ReturnReaderOptions<Tx>,
  decide: DecideReading,
  account: ReturnReading,
  signal: AbortSignal,
): Promise<void> {
  const { returnReadings, throttler } = options
  const { accountId } = account
  if (throttler.isThrottled(accountId)) return returnReadings.defer(accountId, throttledPauseMs)
  let reading: ReturnReading | undefined = account
  if (account.beganAt === null) {
    const load = await returnReadings.load(accountId)
    const kind = load === undefined ? undefined : decide(load)
    if (kind === undefined) return returnReadings.defer(accountId, decidePauseMs)
    reading = await returnReadings.begin(accountId, kind === 'list')
  }
  if (reading === undefined) return
  reading = await readPages(options, reading, signal)
  if (reading.remaining > 0 || signal.aborted) return returnReadings.keep(reading, 0)
  await readSingles(options, reading, signal)
}

/** Reads the list until it has found all transfers, or no more of them; `remaining` is 0 then. */
async function readPages<Tx>(
  options: ReturnReaderOptions<Tx>,
  begun: ReturnReading,
  signal: AbortSignal,
): Promise<ReturnReading> {
  const { returnReadings, handlers, logger } = options
  const { accountId } = begun
  const untilMs = performance.now() + turnMs(options)
  let reading = begun
  while (reading.remaining > 0 && performance.now() < untilMs && !signal.aborted) {
    const page = await handlers.readPage(accountId, reading.cursor, signal).catch((error: unknown) => {
      if (signal.aborted) return 'stopped'
      logger.warn({ accountId, error: thrownText(error) }, 'The list of an account could not be read for returns.')
      return 'failed'
    })
    if (page === 'stopped') return reading
    // One bad entry may break a list for good, and the service may have refused the cursor. Or there are no lists.
    if (page === 'failed' || page === undefined) return { ...reading, spent: reading.spent + 1, remaining: 0 }
    const { skipped } = await applyPage(options, accountId, page)
    const ids = page.observations.map(({ remoteId }) => remoteId).filter((id) => !skipped.has(id))
    const count = await returnReadings.noteRead(reading, ids)
    const patience = count === 0 ? reading.patience - 1 : reading.patience
    const isOver = page.next === undefined || patience <= 0
    const remaining = isOver ? 0 : Math.max(0, reading.remaining - count)
    reading = { ...reading, cursor: page.next ?? null, spent: reading.spent + 1, remaining, patience }
    await returnReadings.keep(reading, readingLeaseMs)
  }
  return reading
}

/** Reads the transfers one by one that have to be read now and that the list has not shown, and ends the reading when none is left. */
async function readSingles<Tx>(
  options: ReturnReaderOptions<Tx>,
  reading: ReturnReading,
  signal: AbortSignal,
): Promise<void> {
  const { driver, transfers, handlers, returnReadings, logger, onObserved } = options
  const { accountId } = reading
  const unread = await returnReadings.unread(reading, singlesAtOnce)
  if (unread.length === 0) return returnReadings.end(reading, decidePauseMs)
  const { observations, missing } = await handlers.poll(accountId, unread, signal)
  const { changed, skipped } = await withLockTimeout(driver, (tx) =>
    transfers.apply(tx, accountId, observations, handlers.rules, 'skip'),
  )
  if (changed > 0) onObserved()
  const applied = observations.map(({ remoteId }) => remoteId).filter((id) => !skipped.has(id))
  await returnReadings.noteRead(reading, applied)
  if (missing.length > 0) {
    const given = await returnReadings.miss(reading, missing)
    logger.warn(
      { accountId, transfers: missing.slice(0, 20), count: missing.length, givenUp: given },
      'The service does not know complete transfers, and cannot say whether their money came back; each is asked for again once, an hour later or more.',
    )
  }
  const next = { ...reading, spent: reading.spent + unread.length }
  if (signal.aborted || applied.length + missing.length === unread.length) return returnReadings.keep(next, 0)
  // The next reading is another one: some could not be read.
  await returnReadings.end(next, failurePauseMs)
}
