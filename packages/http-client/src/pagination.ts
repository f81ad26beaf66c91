import { type Issue, OutlayError } from '@outlay/core'
import { attachRaw, isRecord, type JsonRecord, readMember, unreadable, type WithRaw } from './wire/json.ts'

/** A row of a list that could not be read. It says nothing: neither that something happened, nor that it did not. */
export interface UnreadableRow {
  /** Position in the list as the service sent it, from 0. */
  readonly index: number
  /** The member that could not be read; empty for the whole row. */
  readonly field: string
  /** One sentence. It names the member and never shows its value. */
  readonly reason: string
}

/** Rows of a list that is not paged. `unreadable` is not enumerable. */
export type Rows<T> = readonly T[] & {
  /** Rows that could not be read, in their order. Empty in most cases. */
  readonly unreadable: readonly WithRaw<UnreadableRow>[]
}

/** One page of a list. It may be short or empty and have a following one, where a filter matches little: only a page without `next` is the last. */
export interface Page<T> {
  readonly items: readonly T[]
  /** Rows that could not be read, in their order. Empty in most cases. They are not among the items. */
  readonly unreadable: readonly WithRaw<UnreadableRow>[]
  /** Cursor of the following page; `undefined` on the last one. */
  readonly next: string | undefined
  /** Cursor of the previous page; `undefined` on the first one. */
  readonly previous: string | undefined
}

/** Which page of a list: its size, and at most one cursor. Filters must be the same for every page. */
export interface PageRequest {
  /** 1 to 100. Default 25, by the specification. */
  readonly pageSize?: number | undefined
  /** `next` of a page. */
  readonly after?: string | undefined
  /** `previous` of a page. */
  readonly before?: string | undefined
}

/** Name of the forward cursor. The documentation of the operations has the first, the list reference the second. */
export type ForwardCursor = 'page[after]' | 'page[next]'

/** Optional members of a query. */
type Query = Readonly<Record<string, string | undefined>>

/**
 * Writes the query of a list.
 *
 * @throws OutlayError `invalid_request` for a size out of bounds, and for two cursors in one request
 */
export function encodePageQuery(filters: Query, page: PageRequest, forwardCursor: ForwardCursor): string {
  const { pageSize, after, before } = page
  if (pageSize !== undefined && !(Number.isInteger(pageSize) && pageSize >= 1 && pageSize <= 100)) {
    throw new OutlayError('invalid_request', 'pageSize must be an integer from 1 to 100', { field: 'pageSize' })
  }
  if (after !== undefined && before !== undefined) {
    throw new OutlayError('invalid_request', 'a request must have only one cursor, after or before', {
      field: 'before',
    })
  }
  return encodeQuery({ ...filters, 'page[size]': pageSize?.toString(), [forwardCursor]: after, 'page[prev]': before })
}

/** Writes a query, with its question mark; empty without members. */
export function encodeQuery(query: Query): string {
  const parts = Object.entries(query)
    .filter((entry): entry is [string, string] => entry[1] !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
  return parts.length === 0 ? '' : `?${parts.join('&')}`
}

/**
 * Reads a list: `{<noun>: […], pagination}`, `{data: […]}`, or a bare array, which has no further page. One row that cannot be read
 * does not fail the others.
 *
 * @throws OutlayError `unreadable_response` when the answer is not a list
 */
export function decodePage<T>(
  value: unknown,
  nouns: string | readonly string[],
  decode: (item: unknown) => T,
): Page<T> {
  const rows = readRows(value, typeof nouns === 'string' ? [nouns] : nouns)
  const items: T[] = []
  const unread: WithRaw<UnreadableRow>[] = []
  for (const [index, row] of rows.entries()) {
    try {
      items.push(decode(row))
    } catch (error) {
      if (!OutlayError.is(error, 'unreadable_response')) throw error
      unread.push(attachRaw({ index, field: error.field ?? '', reason: error.message }, row))
    }
  }
  const pagination = isRecord(value) && isRecord(value['pagination']) ? value['pagination'] : {}
  return {
    items,
    unreadable: unread,
    next: readCursor(pagination, 'next'),
    previous: readCursor(pagination, 'prev') ?? readCursor(pagination, 'previous'),
  }
}

const readRows = (value: unknown, nouns: readonly string[]): readonly unknown[] => {
  const record = isRecord(value) ? value : {}
  const rows = [value, ...[...nouns, 'data'].map((noun) => readMember(record, noun))].find(Array.isArray)
  if (rows === undefined) throw unreadable(nouns[0] ?? '', 'a list')
  return rows
}

/** The rows of a list that is not paged. */
export function toRows<T>({ items, unreadable: unread }: Page<T>): Rows<T> {
  return Object.defineProperty([...items], 'unreadable', { value: unread }) as readonly T[] as Rows<T>
}

const readCursor = (pagination: JsonRecord, name: string): string | undefined => {
  const cursor = pagination[name]
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined
}

/** Gets the rows of a walk that could not be read. */
export type OnUnreadable = (row: WithRaw<UnreadableRow>) => void

/** Number of unreadable rows that an error names. */
const mostIssues = 100

/**
 * Walks all pages, one request at a time, as the consumer asks for more.
 *
 * @throws OutlayError `unreadable_response` when a page points to itself, which would never end; without `onUnreadable` also after
 *   the last item, when rows could not be read
 */
export async function* iteratePages<T>(
  readPage: (after: string | undefined) => Promise<Page<T>>,
  start?: string,
  onUnreadable?: OnUnreadable,
): AsyncGenerator<T, void, undefined> {
  const issues: Issue[] = []
  let after = start
  while (true) {
    const page = await readPage(after)
    for (const row of page.unreadable) {
      if (onUnreadable !== undefined) onUnreadable(row)
      else if (issues.length < mostIssues) issues.push(toIssue(row))
    }
    yield* page.items
    if (page.next === undefined) break
    if (page.next === after) throw unreadable('pagination.next', 'a new cursor')
    after = page.next
  }
  if (issues.length > 0) throw incomplete(issues)
}

const toIssue = ({ field, reason }: UnreadableRow): Issue => ({ field, code: 'unreadable_response', message: reason })

const incomplete = (issues: readonly Issue[]): OutlayError => {
  const message =
    'rows of the list could not be read and are missing above; pass onUnreadable to get them beside the others'
  return new OutlayError('unreadable_response', message, { field: issues[0]?.field, issues })
}
