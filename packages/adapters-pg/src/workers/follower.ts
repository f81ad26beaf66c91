import type { FollowedTransfer } from '@outlay/core'
import { inHurry } from '../hurry.ts'
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
  try {
    const observations = await handlers.follow(accountId, transfers, signal)
    const { changed } = await inHurry(driver, (tx) =>
      options.transfers.take(tx, accountId, observations, handlers.rules, false),
    )
    if (changed > 0) options.onObserved()
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    logger.warn(
      { accountId, error: message },
      'The transfers of an account could not be read; they are read again later.',
    )
  }
  await lookAgain(options, transfers)
}

function lookAgain<Tx>(
  { looks, handlers }: FollowerOptions<Tx>,
  transfers: readonly FollowedTransfer[],
): Promise<void> {
  return looks.lookAgain(transfers.map((transfer) => ({ id: transfer.transferId, ms: handlers.nextLookMs(transfer) })))
}
