import type { ListPage, WorkHandlers } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { withLockTimeout } from '../database/lock-timeout.ts'
import type { TransferStore } from '../transfers/transfers.ts'
import type { PollStore } from './polls.ts'

/** Longest pause before a transfer is polled again whose observation could not be applied, such as one that a host had locked, in milliseconds. */
export const unappliedPauseMs = 2_000

/** What pages are applied with. */
export interface PageApplierOptions<Tx> {
  readonly driver: Driver<Tx>
  readonly transfers: TransferStore<Tx>
  readonly polls: PollStore
  readonly handlers: WorkHandlers<Tx>
  readonly onObserved: () => void
}

/** The result of a page. */
export interface AppliedPage {
  /** Ids at the service of the submitted transfers that it has. */
  readonly listed: ReadonlySet<string>
  /** How many of them were due for a poll, or leased for one. */
  readonly due: number
  /** True when it has transfers of others that were not known yet. */
  readonly found: boolean
  /** Ids at the service of transfers that another transaction has locked: nothing was applied to them. */
  readonly skipped: ReadonlySet<string>
}

/**
 * Applies one page of an account's list: all its observations, whether the transfers are due or not. Defers their next polls, so
 * that no page is read again for the same statuses. `leased` are the ids of transfers that were leased for a poll.
 */
export async function applyPage<Tx>(
  options: PageApplierOptions<Tx>,
  accountId: string,
  { observations }: ListPage,
  leased: ReadonlySet<string> = new Set(),
): Promise<AppliedPage> {
  const { driver, transfers, polls, handlers } = options
  if (observations.length === 0) return { listed: new Set(), due: 0, found: false, skipped: new Set() }
  const remoteIds = [...new Set(observations.map(({ remoteId }) => remoteId))]
  const listed = await polls.listed(accountId, remoteIds)
  const { changed, found, skipped } = await withLockTimeout(driver, (tx) =>
    transfers.apply(tx, accountId, observations, handlers.rules, 'skip'),
  )
  if (changed > 0) options.onObserved()
  let due = 0
  const next = listed.flatMap((transfer) => {
    const isLeased = leased.has(transfer.transferId)
    if (isLeased || transfer.due) due += 1
    // The lease has counted the poll already.
    const count = transfer.polls + (transfer.due && !isLeased ? 1 : 0)
    const ms = handlers.nextPollMs({ accountId, transferType: transfer.transferType, polls: count })
    const next = { id: transfer.transferId, ms, polls: count, due: isLeased || transfer.due }
    if (!skipped.has(transfer.remoteId)) return [next]
    // One that was not due keeps its next poll.
    return next.due ? [{ ...next, ms: Math.min(ms, unappliedPauseMs) }] : []
  })
  await polls.rescheduleAfterPage(next)
  return { listed: new Set(listed.map(({ remoteId }) => remoteId)), due, found: found > 0, skipped }
}
