import type { FollowedTransfer, Logger } from '@outlay/core'
import type { ListReadingStore } from '../list-readings.ts'
import { thrownText } from '../thrown-text.ts'
import { type PageTakerOptions, takePage } from './page-taker.ts'

/** What an account's list is read with. */
export interface ListReaderOptions<Tx> extends PageTakerOptions<Tx> {
  readonly readings: ListReadingStore
  readonly logger: Logger
  /** A poll that takes longer is slow, in milliseconds. */
  readonly slowAfterMs: number
}

/** How long one turn of an account goes on with further reads, in milliseconds: what is left goes on in its next one. */
export const turnMs = ({ slowAfterMs }: { readonly slowAfterMs: number }): number => 2 * slowAfterMs

/** Most pages of one account's list that one turn reads. */
const maxPages = 50

/**
 * How long other workers keep away from what one reads at the service, in milliseconds; each page renews it. Statuses of an
 * account wait for as long when its reader dies. Two readers of one list cost requests and nothing else.
 */
export const readingLeaseMs = 15_000

/** What is left of the transfers that were taken for a look. */
export interface UnreadTransfers {
  /** To be read one by one: the list will not show them. */
  readonly single: readonly FollowedTransfer[]
  /** To be due again: the reading goes on in another turn, or is another worker's. */
  readonly later: readonly FollowedTransfer[]
  /** To be looked at again at their usual pace: the service does not answer. */
  readonly failed: readonly FollowedTransfer[]
}

/**
 * Looks at many transfers of one account by reading its list from the newest on, until nothing is due that it has not met. What
 * a turn leaves goes on in the next one, of whichever worker.
 */
export async function readList<Tx>(
  options: ListReaderOptions<Tx>,
  accountId: string,
  transfers: readonly FollowedTransfer[],
  signal: AbortSignal,
): Promise<UnreadTransfers> {
  const { readings, looks, handlers, logger } = options
  const missing = new Map(transfers.map((transfer) => [transfer.remoteId, transfer]))
  const left = () => [...missing.values()]
  const reading = await readings.take(accountId, transfers.length, readingLeaseMs)
  if (reading === undefined) return { single: [], later: left(), failed: [] }
  const taken = new Set(transfers.map(({ transferId }) => transferId))
  const untilMs = performance.now() + turnMs(options)
  const mayGoOn = (count: number) => !signal.aborted && count < maxPages && (count === 0 || performance.now() < untilMs)
  let { cursor, patience } = reading
  try {
    for (let count = 0; mayGoOn(count); count += 1) {
      const page = await handlers.readPage(accountId, cursor, signal)
      const { met, due } = page === undefined ? { met: [], due: 0 } : await takePage(options, accountId, page, taken)
      for (const remoteId of met) missing.delete(remoteId)
      if (due === 0) patience -= 1
      const isOver = page?.next === undefined || patience <= 0
      if (isOver || (missing.size === 0 && !(await looks.isDue(accountId)))) {
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
    // The cursor may be what the service did not like.
    await readings.end(accountId)
    const message = thrownText(error)
    logger.warn({ accountId, error: message }, 'The list of an account could not be read; it is read again later.')
    return { single: [], later: [], failed: left() }
  }
}
