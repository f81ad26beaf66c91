import type { Logger, Observation } from '@outlay/core'
import { thrownText } from '../database/thrown-text.ts'
import { readingLeaseMs, turnMs } from '../polling/list-reader.ts'
import { applyPage, type PageApplierOptions } from '../polling/page-applier.ts'
import { createAccountTasks } from '../workers/account-tasks.ts'
import { type Loop, startLoop } from '../workers/loop.ts'
import type { LoopList } from '../workers/loop-list.ts'
import type { WatchedAccount, WatchedAccountStore } from './watched-accounts.ts'

/** What a watcher works with. */
export interface WatcherOptions<Tx> extends PageApplierOptions<Tx> {
  readonly watched: WatchedAccountStore<Tx>
  readonly logger: Logger
  readonly loops?: LoopList | undefined
  /** A poll that takes longer is slow, in milliseconds. */
  readonly slowAfterMs: number
}

/** Accounts that are read side by side, not counting slow ones. */
const accountsAtOnce = 4

/** Most pages of one account's list that one turn reads. */
const maxPages = 20

/** Pause between checks for due accounts, in milliseconds. */
const pauseMs = 500

/** How far a reading overlaps the one before, by the service's clock, in milliseconds: a list may show a transfer late. */
const overlapMs = 60_000

/**
 * Starts the loop that reads the lists of watched accounts, each back to the newest transfer of the previous reading. Each account
 * has its own task, and none waits for another.
 */
export function startWatcher<Tx>(options: WatcherOptions<Tx>): Loop {
  const { watched, logger, slowAfterMs } = options
  const abort = new AbortController()
  let isMore = false
  const onFree = () => {
    if (isMore) loop.wake()
  }
  const tasks = createAccountTasks({ logger, size: accountsAtOnce, slowAfterMs, onFree })
  const loop = startLoop({
    name: 'watch',
    logger,
    loops: options.loops,
    async turn() {
      const free = tasks.free()
      isMore = free === 0
      if (isMore) return pauseMs
      const due = await watched.lease(free, readingLeaseMs, tasks.excluded(), options.handlers.gateways)
      for (const account of due) {
        if (tasks.mayBegin(account.accountId)) {
          tasks.begin(account.accountId, () => watchAccount(options, account, abort.signal))
        } else {
          await watched.keep(account)
        }
      }
      isMore = due.length === free
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

const unreadMessage =
  'Some transfers in the list of a watched account could not be read; they are not adopted, and are read again while they are among the newest.'

async function watchAccount<Tx>(
  options: WatcherOptions<Tx>,
  account: WatchedAccount,
  signal: AbortSignal,
): Promise<void> {
  const { handlers, watched, logger } = options
  const { accountId, seenTo } = account
  const until = Date.parse(seenTo) - overlapMs
  let { cursor, readingFrom } = account
  let unread = 0
  let found = false
  const untilMs = performance.now() + turnMs(options)
  try {
    for (let count = 0; count < maxPages && (count === 0 || performance.now() < untilMs); count += 1) {
      if (signal.aborted) break
      const page = await handlers.readPage(accountId, cursor, signal)
      const observations = page?.observations ?? []
      const created = observations.map(createdAt).filter((time) => !Number.isNaN(time))
      readingFrom ??= created.length === 0 ? null : new Date(Math.max(...created)).toISOString()
      if ((page?.unreadable ?? 0) > 0) {
        unread += page?.unreadable ?? 0
        // The next reading comes back to this page, unless it is too far from the beginning.
        if (account.cursor === null) readingFrom = earlier(readingFrom, later(seenTo, created))
      }
      if (page !== undefined) found = (await applyPage(options, accountId, page)).found || found
      // A page of transfers without times has nothing to adopt either, unless it could not be read. One without transfers is no end: the
      // service may have examined as many as it does for a page.
      const isTimeless = observations.length > 0 && created.length === 0 && unread === 0
      const isOver = page?.next === undefined || page.next === cursor
      if (isOver || isTimeless || Math.min(...created) < until) {
        if (unread > 0) logger.warn({ accountId, transfers: unread }, unreadMessage)
        return await endReading(options, account, readingFrom, found)
      }
      cursor = page.next
    }
    // Until its last page is read, a reading may fail as those before it did.
    const idle = found ? Math.min(0, account.idle) : account.idle
    await watched.keep({ accountId, seenTo, cursor, readingFrom, idle })
  } catch (error) {
    if (signal.aborted) return await watched.keep({ accountId, seenTo, cursor, readingFrom, idle: account.idle })
    const message = thrownText(error)
    logger.warn(
      { accountId, error: message },
      'The list of a watched account could not be read; the worker reads it again later.',
    )
    // From the beginning: the service may have refused the cursor.
    const failures = Math.max(0, -account.idle) + 1
    await watched.end(accountId, null, -failures, handlers.nextWatchMs(failures))
  }
}

async function endReading<Tx>(
  { handlers, watched }: WatcherOptions<Tx>,
  { accountId, idle }: WatchedAccount,
  readingFrom: string | null,
  found: boolean,
): Promise<void> {
  // A transfer that awaits funds waits for a transfer of others.
  const isAwaited = found || (await watched.isWaiting(accountId))
  const next = isAwaited ? 0 : Math.max(0, idle) + 1
  await watched.end(accountId, readingFrom, next, handlers.nextWatchMs(next))
}

/** When the oldest of a page was created, but not before `time`; `time` for a page that shows none. */
const later = (time: string, created: readonly number[]): string =>
  created.length === 0 ? time : new Date(Math.max(Date.parse(time), Math.min(...created))).toISOString()

const earlier = (time: string | null, other: string): string =>
  time === null || Date.parse(other) < Date.parse(time) ? other : time

const createdAt = ({ transfer }: Observation): number => Date.parse(transfer?.createdAt ?? '')
