import type { FollowedTransfer, Readings } from '@outlay/core'
import { type ListReaderOptions, readList } from './list-reader.ts'
import { type Loop, startLoop } from './loop.ts'
import type { Pacer } from './pacer.ts'

/** What a follower works with. */
export interface FollowerOptions<Tx> extends ListReaderOptions<Tx> {
  readonly pacer: Pacer
}

/** From this many due transfers of one account on, its list is read instead of each transfer. */
const readListFrom = 10

/** Most transfers that one turn looks at. */
const maxLooks = 500

/** How long other workers keep away from transfers that are being looked at, in milliseconds. */
const leaseMs = 15_000

/** Pause between looks for due transfers, in milliseconds. */
const pauseMs = 500

/** Accounts that are looked at side by side. */
const accountsAtOnce = 4

/** How long the service may not know a submitted transfer until a person is told, in milliseconds. */
const missingPatienceMs = 3_600_000

/** Longest pause between two looks for a transfer that is missing, in milliseconds, so that more than two readings count. */
const missingPauseMs = 600_000

/** Starts the loop that looks at submitted transfers when they are due, until their status is final: few one by one, many by pages. */
export function startFollower<Tx>(options: FollowerOptions<Tx>): Loop & { readonly stop: () => Promise<void> } {
  const abort = new AbortController()
  const loop = startLoop({
    name: 'follow',
    logger: options.logger,
    async turn() {
      const due = await options.looks.takeDue(maxLooks, leaseMs, options.handlers.traced)
      const accounts = [...Map.groupBy(due, (transfer) => transfer.accountId).entries()]
      const workers = Array.from({ length: Math.min(accountsAtOnce, accounts.length) }, async () => {
        for (let next = accounts.pop(); next !== undefined; next = accounts.pop()) {
          await followAccount(options, next[0], next[1], abort.signal)
        }
      })
      await Promise.all(workers)
      return due.length === maxLooks ? 0 : pauseMs
    },
  })
  return {
    wake: () => loop.wake(),
    async stop() {
      abort.abort(new Error('The engine stops.'))
      await loop.stop()
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

async function followEach<Tx>(
  options: FollowerOptions<Tx>,
  accountId: string,
  transfers: readonly FollowedTransfer[],
  signal: AbortSignal,
): Promise<void> {
  if (transfers.length === 0) return
  const { driver, handlers, logger } = options
  let readings: Readings = { observations: [], missing: [] }
  try {
    readings = await handlers.follow(accountId, transfers, signal)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    logger.warn(
      { accountId, error: message },
      'The transfers of an account could not be read; they are read again later.',
    )
  }
  const { observations, missing } = readings
  if (observations.length > 0) {
    const { changed } = await driver.transaction((tx) =>
      options.transfers.take(tx, accountId, observations, handlers.rules),
    )
    if (changed > 0) options.onObserved()
  }
  await lookAgain(options, transfers, readings)
  const flagged = await options.looks.markMissing(missing, missingPatienceMs)
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
