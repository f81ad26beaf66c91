import { type FindTransfers, OutlayError, type StoredTransfer, type TransferPage } from '@outlay/core'
import { type Accounts, covers } from '../authorization/scope.ts'
import type { ConsoleContext, Transaction } from '../context.ts'
import { notFound, parameterError, refusal } from '../http/problem.ts'
import { compact, type Filter } from './filter.ts'

/** Most accounts whose transfers are searched one by one for one answer. */
const mostAccounts = 50

/** Most reads of one collection, each of which reads twenty thousand transfers at most. */
const mostReads = 50

/** Transfers on a page of a collection. */
const collectedAtOnce = 1_000

/** A page of transfers. */
export interface FoundPage {
  readonly transfers: readonly StoredTransfer[]
  readonly nextCursor: string | null
}

/** How much is wanted. */
export interface PageWish {
  readonly limit: number
  readonly cursor?: string | undefined
  /** Ends the search between two reads. */
  readonly signal: AbortSignal
}

/** What bounds a collection. */
export interface CollectionBounds {
  /** Most transfers. */
  readonly most: number
  /** Ends the collection between two reads. */
  readonly signal: AbortSignal
}

/**
 * The accounts to search, one search for each; `undefined` stands for all accounts.
 * @throws OutlayError `not_found` for an account that the person may not read, whether it exists or not
 */
export function accountsOf(accounts: Accounts, { accountId }: Filter): readonly (string | undefined)[] {
  if (accountId !== undefined) {
    if (!covers(accounts, accountId)) throw notFound()
    return [accountId]
  }
  if (accounts === 'all') return [undefined]
  if (accounts.length > mostAccounts)
    throw parameterError('accountId', `is needed: you may read ${accounts.length} accounts. Name one of them.`)
  return accounts
}

/**
 * A place behind another one that is no id of a transfer: where a search stopped, it may be that of a transfer that the person may not know
 * of. So it is the end of its millisecond, or the last transfer that the page has, and never before the place where the page began.
 */
function blurCursor(place: string, page: readonly StoredTransfer[], from: string | undefined): string {
  const last = page.at(-1)?.id
  const blurred = `${place.slice(0, 10)}${'Z'.repeat(16)}`
  const bounds = [blurred, last, from].filter((one) => one !== undefined && one >= place)
  const lowest = bounds.toSorted()[0] ?? blurred
  // No progress otherwise: all that was read is of one millisecond.
  return lowest === from ? place : lowest
}

/**
 * Finds transfers of one account after the other. A currency that the catalog does not have is refused where none of them has anything in it: in one
 * account alone there may be nothing.
 */
function openSearch({ reads }: Pick<ConsoleContext, 'reads'>) {
  let refusal: unknown
  let isFound = false
  return {
    async find(query: FindTransfers, tx?: Transaction): Promise<TransferPage> {
      try {
        const page = await reads.transfers.find(query, tx)
        isFound = true
        return page
      } catch (error) {
        if (!OutlayError.is(error, 'unknown_value_type')) throw error
        refusal = error
        return { transfers: [], nextCursor: null }
      }
    },
    end(): void {
      if (!isFound && refusal !== undefined) throw refusal
    },
  }
}

/** Finds transfers of the accounts of a person, the newest first, as `engine.transfers.find` does. */
export async function findTransfers(
  context: ConsoleContext,
  accounts: Accounts,
  filter: Filter,
  { limit, cursor, signal }: PageWish,
): Promise<FoundPage> {
  const pages: FoundPage[] = []
  const search = openSearch(context)
  for (const accountId of accountsOf(accounts, filter)) {
    signal.throwIfAborted()
    const query = compact({ ...filter, accountId, limit, cursor })
    pages.push(await search.find(query))
  }
  search.end()
  // What is behind the place where one of the searches stopped is not known of that account.
  const edge = pages
    .flatMap((page) => page.nextCursor ?? [])
    .toSorted()
    .at(-1)
  const found = pages.flatMap(({ transfers }) => transfers)
  const known = found.filter(({ id }) => edge === undefined || id >= edge)
  const transfers = known.toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, limit)
  const isCut = known.length > limit
  if (isCut) return { transfers, nextCursor: transfers.at(-1)?.id ?? null }
  return { transfers, nextCursor: edge === undefined ? null : blurCursor(edge, transfers, cursor) }
}

/**
 * Collects all transfers of a filter, in the order of their ids.
 * @throws OutlayError `invalid_request` when there are more than `most`, or when they cannot be found in bounded time
 */
export async function collectTransfers(
  context: ConsoleContext,
  accounts: Accounts,
  filter: Filter,
  { most, signal }: CollectionBounds,
  tx?: Transaction,
): Promise<readonly StoredTransfer[]> {
  const collected: StoredTransfer[] = []
  const search = openSearch(context)
  let reads = 0
  for (const accountId of accountsOf(accounts, filter)) {
    let cursor: string | undefined
    do {
      signal.throwIfAborted()
      reads += 1
      if (reads > mostReads) throw refusal(422, 'The filter is too wide to be read at once: narrow it by times.')
      const query = compact({ ...filter, accountId, limit: collectedAtOnce, cursor })
      const page = await search.find(query, tx)
      collected.push(...page.transfers)
      if (collected.length > most)
        throw refusal(422, `More than ${most} transfers match: narrow the filter, or take them in parts by times.`)
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
  }
  search.end()
  return collected.toSorted((one, other) => (one.id < other.id ? -1 : 1))
}
