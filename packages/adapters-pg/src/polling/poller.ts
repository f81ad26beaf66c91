import { atGateway, type PolledTransfer, type PollTrouble, type Readings } from '@outlay/core/adapter'
import { withLockTimeout } from '../database/lock-timeout.ts'
import { thrownText } from '../database/thrown-text.ts'
import type { Throttler } from '../limits/throttler.ts'
import { createAccountTasks } from '../workers/account-tasks.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import { type ListReaderOptions, readingLeaseMs, readList, turnMs } from './list-reader.ts'
import { unappliedPauseMs } from './page-applier.ts'

/** What a poller works with. */
export interface PollerOptions<Tx> extends ListReaderOptions<Tx> {
  readonly throttler: Pick<Throttler, 'isThrottled'>
  readonly loops?: LoopList | undefined
}

/** From this many due transfers of one account on, its list is read instead of each transfer. */
const readListFrom = 10

/** Most transfers that one turn leases. */
const maxPolls = 500

/** Pause between checks for due transfers, in milliseconds. */
const pauseMs = 500

/** Accounts that are polled side by side, not counting slow ones. */
const accountsAtOnce = 16

/** Transfers of one account that are read before the next ones may be left for another turn. */
const chunkSize = 16

/** Transfers that are tried one by one when the list of their account cannot be read. */
const triedUnlisted = 4

/** How long the service may not know a submitted transfer before the worker reports it to a person, in milliseconds. */
const missingPatienceMs = 3_600_000

/** Longest pause after a poll that did not get through, in milliseconds: it may be corrected at any time. */
const obstructedPauseMs = 300_000

/** Longest pause between two polls of a missing transfer, in milliseconds, so that more than two readings count. */
const missingPauseMs = 600_000

/** Transfers of an account that were leased and have to wait for their turn. */
interface WaitingTransfers {
  readonly transfers: readonly PolledTransfer[]
  /** When their lease is about to end, by the monotonic clock. */
  readonly untilMs: number
}

/**
 * Starts the loop that polls submitted transfers when they are due, until their status is final: few one by one, many by pages.
 * Each account has its own task, and none waits for another.
 */
export function startPoller<Tx>(options: PollerOptions<Tx>): Loop & { readonly stop: () => Promise<void> } {
  const { polls, handlers, logger, slowAfterMs } = options
  const abort = new AbortController()
  const waiting = new Map<string, WaitingTransfers>()
  let isMore = false
  const tasks = createAccountTasks({
    logger,
    size: accountsAtOnce,
    slowAfterMs,
    onFree() {
      beginWaiting()
      if (isMore) loop.wake()
    },
  })
  const beginWaiting = () => {
    for (const [accountId, { transfers }] of waiting) {
      if (abort.signal.aborted || !tasks.mayBegin(accountId)) continue
      waiting.delete(accountId)
      tasks.begin(accountId, () => pollAccount(options, accountId, transfers, abort.signal))
    }
  }
  /** Gives transfers whose lease is about to end back, to other workers or to a later turn. */
  const giveBackWaiting = async (nowMs: number) => {
    const late = [...waiting].filter(([, { untilMs }]) => untilMs <= nowMs)
    for (const [accountId] of late) waiting.delete(accountId)
    await polls.giveBack(late.flatMap(([, { transfers }]) => transfers.map(({ transferId }) => transferId)))
  }
  const loop = startLoop({
    name: 'poll',
    logger,
    loops: options.loops,
    async turn() {
      await giveBackWaiting(performance.now())
      isMore = tasks.free() === 0
      if (isMore) return pauseMs
      const except = [...tasks.excluded(), ...waiting.keys()]
      const due = await polls.leaseDue(maxPolls, readingLeaseMs, except, handlers.gateways, handlers.traced)
      const untilMs = performance.now() + readingLeaseMs / 2
      for (const [accountId, transfers] of Map.groupBy(due, atGateway)) {
        waiting.set(accountId, { transfers, untilMs })
      }
      beginWaiting()
      isMore = due.length === maxPolls
      return isMore ? 0 : pauseMs
    },
  })
  return {
    wake: () => loop.wake(),
    async stop() {
      abort.abort(new Error('The engine stops.'))
      await loop.stop()
      await giveBackWaiting(Number.POSITIVE_INFINITY).catch(() => undefined)
      await tasks.ended()
    },
  }
}

async function pollAccount<Tx>(
  options: PollerOptions<Tx>,
  accountId: string,
  transfers: readonly PolledTransfer[],
  signal: AbortSignal,
): Promise<void> {
  // While the service asks for a pause, the worker does not read statuses either.
  if (options.throttler.isThrottled(accountId)) return reschedule(options, transfers)
  if (transfers.length < readListFrom) return pollEach(options, accountId, transfers, signal)
  const { single, later, failed } = await readList(options, accountId, transfers, signal)
  await options.polls.giveBack(later.map(({ transferId }) => transferId))
  await pollUnlisted(options, accountId, failed, signal)
  await pollEach(options, accountId, single, signal)
}

/**
 * Polls transfers whose list cannot be read: some first, and the others only when one of them was read. One bad entry may break a list
 * for good, and a service that is down gets few requests more.
 */
async function pollUnlisted<Tx>(
  options: PollerOptions<Tx>,
  accountId: string,
  transfers: readonly PolledTransfer[],
  signal: AbortSignal,
): Promise<void> {
  if (transfers.length === 0) return
  const tried = await pollSome(options, accountId, transfers.slice(0, triedUnlisted), signal)
  const others = transfers.slice(triedUnlisted)
  if (tried.observations.length + tried.missing.length > 0) return pollEach(options, accountId, others, signal)
  const [trouble] = tried.troubles?.values() ?? []
  await reschedule(options, others, { ...tried, troubles: ofAll(others, trouble) })
}

const ofAll = (transfers: readonly PolledTransfer[], trouble: PollTrouble | null | undefined): Readings['troubles'] =>
  trouble === undefined ? undefined : new Map(transfers.map(({ transferId }) => [transferId, trouble]))

/** Polls transfers chunk by chunk, and gives back those beyond the time of the account's turn. */
async function pollEach<Tx>(
  options: PollerOptions<Tx>,
  accountId: string,
  transfers: readonly PolledTransfer[],
  signal: AbortSignal,
): Promise<void> {
  const untilMs = performance.now() + turnMs(options)
  for (let from = 0; from < transfers.length; from += chunkSize) {
    if (from > 0 && (signal.aborted || performance.now() >= untilMs)) {
      await options.polls.giveBack(transfers.slice(from).map(({ transferId }) => transferId))
      return
    }
    await pollSome(options, accountId, transfers.slice(from, from + chunkSize), signal)
  }
}

/** Returns what the service said of them. */
async function pollSome<Tx>(
  options: PollerOptions<Tx>,
  accountId: string,
  transfers: readonly PolledTransfer[],
  signal: AbortSignal,
): Promise<Readings> {
  const { driver, handlers, logger } = options
  let readings: Readings = { observations: [], missing: [] }
  let unapplied: ReadonlySet<string> = new Set()
  try {
    readings = await handlers.poll(accountId, transfers, signal)
    const { observations } = readings
    unapplied = new Set(observations.map(({ remoteId }) => remoteId))
    const applied = await withLockTimeout(driver, (tx) =>
      options.transfers.apply(tx, accountId, observations, handlers.rules, 'skip'),
    )
    unapplied = applied.skipped
    if (applied.changed > 0) options.onObserved()
  } catch (error) {
    const message = thrownText(error)
    logger.warn(
      { accountId, error: message },
      'The transfers of an account could not be read; the worker reads them again later.',
    )
  }
  await reschedule(options, transfers, readings, unapplied)
  const flagged = await options.polls.markMissing(readings.missing, missingPatienceMs)
  if (flagged.length === 0) return readings
  logger.error(
    { accountId, transfers: flagged.slice(0, 20), count: flagged.length },
    'The service does not know transfers that it accepted; a person has to find out what was paid.',
  )
  options.onObserved()
  return readings
}

function reschedule<Tx>(
  { polls, handlers }: PollerOptions<Tx>,
  transfers: readonly PolledTransfer[],
  { observations, missing, troubles }: Readings = { observations: [], missing: [] },
  unapplied: ReadonlySet<string> = new Set(),
): Promise<void> {
  const [seen, gone] = [new Set(observations.map(({ remoteId }) => remoteId)), new Set(missing)]
  return polls.reschedule(
    transfers.map((transfer) => {
      const { transferId: id, remoteId } = transfer
      const trouble = gone.has(id) ? null : troubles?.get(id)
      const pauseMs = unapplied.has(remoteId)
        ? unappliedPauseMs
        : gone.has(id)
          ? missingPauseMs
          : (trouble ?? undefined) === undefined
            ? Number.POSITIVE_INFINITY
            : obstructedPauseMs
      return { id, ms: Math.min(handlers.nextPollMs(transfer), pauseMs), seen: seen.has(remoteId), trouble }
    }),
  )
}
