import { OutlayError } from '@outlay/core'
import { isRecord, type JsonRecord, readMember, unreadable } from './wire/json.ts'

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[]
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
 * Reads a list: `{<noun>: […], pagination}`, `{data: […]}`, or a bare array, which has no further page.
 *
 * @throws OutlayError `unreadable_response`
 */
export function decodePage<T>(value: unknown, noun: string, decode: (item: unknown) => T): Page<T> {
  if (Array.isArray(value)) return { items: value.map((item) => decode(item)), next: undefined, previous: undefined }
  if (!isRecord(value)) throw unreadable(noun, 'a list')
  const items = readMember(value, noun) ?? value.data
  if (!Array.isArray(items)) throw unreadable(noun, 'a list')
  const pagination = isRecord(value.pagination) ? value.pagination : {}
  return {
    items: items.map((item) => decode(item)),
    next: readCursor(pagination, 'next'),
    previous: readCursor(pagination, 'prev') ?? readCursor(pagination, 'previous'),
  }
}

const readCursor = (pagination: JsonRecord, name: string): string | undefined => {
  const cursor = pagination[name]
  return typeof cursor === 'string' && cursor !== '' ? cursor : undefined
}

/**
 * Walks all pages, one request at a time, as the consumer asks for more.
 *
 * @throws OutlayError `unreadable_response` when a page points to itself, which would never end
 */
export async function* iteratePages<T>(
  readPage: (after: string | undefined) => Promise<Page<T>>,
  start?: string,
): AsyncGenerator<T, void, undefined> {
  let after = start
  while (true) {
    const page = await readPage(after)
    yield* page.items
    if (page.next === undefined) return
    if (page.next === after) throw unreadable('pagination.next', 'a new cursor')
    after = page.next
  }
}
