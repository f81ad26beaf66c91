import type { Logger } from '@outlay/core'
import type { PolledTransfer } from '@outlay/core/adapter'
import { thrownText } from '../database/thrown-text.ts'
import type { ListReadingStore } from './list-readings.ts'
import { applyPage, type PageApplierOptions } from './page-applier.ts'

/** What an account's list is read with. */
export interface ListReaderOptions<Tx> extends PageApplierOptions<Tx> {
  readonly readings: ListReadingStore
  readonly logger: Logger
  /** A poll that takes longer is slow, in milliseconds. */
  readonly slowAfterMs: number
}

/** How long one turn of an account goes on with further reads, in milliseconds: its next turn reads the rest. */
export const turnMs = ({ slowAfterMs }: { readonly slowAfterMs: number }): number => 2 * slowAfterMs

/** Most pages of one account's list that one turn reads. */
const maxPages = 50

/**
 * How long a worker leases what it reads at the service, in milliseconds; each page renews the lease. When a reader dies, the
 * statuses of its account wait for as long. Two readers of one list cost requests and nothing else.
 */
export const readingLeaseMs = 15_000

/** The transfers that were leased for a poll and are not polled yet. */
export interface UnreadTransfers {
  /** To be polled one by one: the list will not show them. */
  readonly single: readonly PolledTransfer[]
  /** To be due again: another turn or another worker goes on with the reading. */
  readonly later: readonly PolledTransfer[]
  /** To be polled one by one if the service answers at all: the list cannot be read. */
  readonly failed: readonly PolledTransfer[]
}

/**
 * Polls many transfers of one account by reading its list from the newest on, until no transfer is due that it has not found. The
 * next turn, of any worker, reads what this one leaves.
 */
export async function readList<Tx>(
  options: ListReaderOptions<Tx>,
  accountId: string,
  transfers: readonly PolledTransfer[],
  signal: AbortSignal,
): Promise<UnreadTransfers> {
  const { readings, polls, handlers, logger } = options
  const missing = new Map(transfers.map((transfer) => [transfer.remoteId, transfer]))
  const left = () => [...missing.values()]
  const reading = await readings.lease(accountId, transfers.length, readingLeaseMs)
  if (reading === undefined) return { single: [], later: left(), failed: [] }
  const leased = new Set(transfers.map(({ transferId }) => transferId))
  const untilMs = performance.now() + turnMs(options)
  const mayGoOn = (count: number) => !signal.aborted && count < maxPages && (count === 0 || performance.now() < untilMs)
  let { cursor, patience } = reading
  try {
    for (let count = 0; mayGoOn(count); count += 1) {
      const page = await handlers.readPage(accountId, cursor, signal)
      const { listed, due } =
        page === undefined ? { listed: [], due: 0 } : await applyPage(options, accountId, page, leased)
      for (const remoteId of listed) missing.delete(remoteId)
      if (due === 0) patience -= 1
      const isOver = page?.next === undefined || patience <= 0
      if (isOver || (missing.size === 0 && !(await polls.isDue(accountId)))) {
        await readings.end(accountId)
        return { single: left(), later: [], failed: [] }
      }
      cursor = page.next
      await readings.keep(accountId, { cursor, patience }, readingLeaseMs)
    }
    await readings.keep(accountId, { cursor, patience }, 0)
    return { single: [], later: left(), failed: [] }
  } catch (error) {
    if (signal.aborted) {
      await readings.keep(accountId, { cursor, patience }, 0)
      return { single: [], later: left(), failed: [] }
    }
    // The service may have refused the cursor.
    await readings.end(accountId)
    const message = thrownText(error)
    logger.warn(
      { accountId, error: message },
      'The list of an account could not be read; the worker reads it again later.',
    )
    return { single: [], later: [], failed: left() }
  }
}
