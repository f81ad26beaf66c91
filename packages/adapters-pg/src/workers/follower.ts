import type { FollowedTransfer, Readings } from '@outlay/core'
import { inHurry } from '../hurry.ts'
import { thrownText } from '../thrown-text.ts'
import { createAccountTasks } from './account-tasks.ts'
import { type ListReaderOptions, readingLeaseMs, readList, turnMs } from './list-reader.ts'
import { type Loop, startLoop } from './loop.ts'
import type { Pacer } from './pacer.ts'

/** What a follower works with. */
export interface FollowerOptions<Tx> extends ListReaderOptions<Tx> {
  readonly pacer: Pick<Pacer, 'isHeld'>
}

/** From this many due transfers of one account on, its list is read instead of each transfer. */
const readListFrom = 10

/** Most transfers that one turn looks at. */
const maxLooks = 500

/** Pause between looks for due transfers, in milliseconds. */
const pauseMs = 500

/** Accounts that are polled side by side, slow ones aside. */
const accountsAtOnce = 16

/** Transfers of one account that are read before the next ones may be left for another turn. */
const chunkSize = 16

/** How long the service may not know a submitted transfer until a person is told, in milliseconds. */
const missingPatienceMs = 3_600_000

/** Longest pause between two looks for a transfer that is missing, in milliseconds, so that more than two readings count. */
const missingPauseMs = 600_000

/** Transfers of an account that were taken and have to wait for their turn. */
interface WaitingTransfers {
  readonly transfers: readonly FollowedTransfer[]
  /** When their lease is about to end, by the monotonic clock. */
  readonly untilMs: number
}

/**
 * Starts the loop that looks at submitted transfers when they are due, until their status is final: few one by one, many by
 * pages. Each account has a task of its own, and none waits for another.
 */
export function startFollower<Tx>(options: FollowerOptions<Tx>): Loop & { readonly stop: () => Promise<void> } {
  const { looks, handlers, logger, slowAfterMs } = options
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
      tasks.begin(accountId, () => followAccount(options, accountId, transfers, abort.signal))
    }
  }
  /** Leaves those to other workers, or to a later turn, whose lease is about to end. */
  const giveBackWaiting = async (nowMs: number) => {
    const late = [...waiting].filter(([, { untilMs }]) => untilMs <= nowMs)
    for (const [accountId] of late) waiting.delete(accountId)
    await looks.giveBack(late.flatMap(([, { transfers }]) => transfers.map(({ transferId }) => transferId)))
  }
  const loop = startLoop({
    name: 'follow',
    logger,
    async turn() {
      await giveBackWaiting(performance.now())
      isMore = tasks.free() === 0
      if (isMore) return pauseMs
      const except = [...tasks.excluded(), ...waiting.keys()]
      const due = await looks.takeDue(maxLooks, readingLeaseMs, except, handlers.traced)
      const untilMs = performance.now() + readingLeaseMs / 2
      for (const [accountId, transfers] of Map.groupBy(due, (transfer) => transfer.accountId)) {
        waiting.set(accountId, { transfers, untilMs })
      }
      beginWaiting()
      isMore = due.length === maxLooks
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

async function followAccount<Tx>(
  options: FollowerOptions<Tx>,
  accountId: string,
  transfers: readonly FollowedTransfer[],
  signal: AbortSignal,
): Promise<void> {
  // A service that has asked for a pause is not asked about statuses either.
  if (options.pacer.isHeld(accountId)) return lookAgain(options, transfers)
  if (transfers.length < readListFrom) return followEach(options, accountId, transfers, signal)
  const { single, later, failed } = await readList(options, accountId, transfers, signal)
  await options.looks.giveBack(later.map(({ transferId }) => transferId))
  await lookAgain(options, failed)
  await followEach(options, accountId, single, signal)
}

/** Reads some transfers after another, and gives those back that would take the account's turn too long. */
async function followEach<Tx>(
  options: FollowerOptions<Tx>,
  accountId: string,
  transfers: readonly FollowedTransfer[],
  signal: AbortSignal,
): Promise<void> {
  const untilMs = performance.now() + turnMs(options)
  for (let from = 0; from < transfers.length; from += chunkSize) {
    if (from > 0 && (signal.aborted || performance.now() >= untilMs)) {
      await options.looks.giveBack(transfers.slice(from).map(({ transferId }) => transferId))
      return
    }
    await followSome(options, accountId, transfers.slice(from, from + chunkSize), signal)
  }
}

async function followSome<Tx>(
  options: FollowerOptions<Tx>,
  accountId: string,
  transfers: readonly FollowedTransfer[],
  signal: AbortSignal,
): Promise<void> {
  const { driver, handlers, logger } = options
  let readings: Readings = { observations: [], missing: [] }
  try {
    readings = await handlers.follow(accountId, transfers, signal)
    const { observations } = readings
    const { changed } = await inHurry(driver, (tx) =>
      options.transfers.take(tx, accountId, observations, handlers.rules, false),
    )
    if (changed > 0) options.onObserved()
  } catch (error) {
    const message = thrownText(error)
    logger.warn(
      { accountId, error: message },
      'The transfers of an account could not be read; they are read again later.',
    )
  }
  await lookAgain(options, transfers, readings)
  const flagged = await options.looks.markMissing(readings.missing, missingPatienceMs)
  if (flagged.length === 0) return
  logger.error(
    { accountId, transfers: flagged.slice(0, 20), count: flagged.length },
    'The service does not know transfers that it accepted; a person has to find out what was paid.',
  )
  options.onObserved()
}

function lookAgain<Tx>(
  { looks, handlers }: FollowerOptions<Tx>,
  transfers: readonly FollowedTransfer[],
  { observations, missing }: Readings = { observations: [], missing: [] },
): Promise<void> {
  const [seen, gone] = [new Set(observations.map(({ remoteId }) => remoteId)), new Set(missing)]
  return looks.lookAgain(
    transfers.map((transfer) => {
      const ms = handlers.nextLookMs(transfer)
      const id = transfer.transferId
      return { id, ms: gone.has(id) ? Math.min(ms, missingPauseMs) : ms, seen: seen.has(transfer.remoteId) }
    }),
  )
}
