import { timingSafeEqual } from 'node:crypto'
import { Limits } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import { parameterError } from './problem.ts'
import type { ServiceRequest } from './request.ts'

/** The requested page of a list, with the filters of the list. */
export interface Page {
  /** 1 to 100. */
  readonly size: number
  /** `forward`: what follows the position in the list's order; `backward`: what precedes it, nearest first. */
  readonly direction: 'forward' | 'backward'
  /** Id at which the page starts, not included; `undefined` for the first page. */
  readonly position: string | undefined
  /** The filters that are set. */
  readonly filters: Readonly<Record<string, string>>
  /** What the cursors belong to. */
  readonly scope: string
}

/** Cursors to the next and the previous page; null when there is none. */
export interface Pagination {
  readonly next: string | null
  readonly prev: string | null
}

const forwardNames = ['page[after]', 'page[next]']
const backwardNames = ['page[prev]', 'page[before]']
const cursorNames = [...forwardNames, ...backwardNames]

/**
 * Reads `page[size]`, at most one cursor, and the named filters. A cursor contains the filters of its list. A request may
 * repeat them, but not change them.
 * @throws OutlayError `invalid_request` naming the parameter.
 */
export function readPage(c: ServiceRequest, context: ServiceContext, filterNames: readonly string[]): Page {
  const scope = c.req.path
  const size = readSize(c)
  const filters = readFilters(c, filterNames)
  const given = cursorNames.flatMap((name) => {
    const text = readParameter(c, name)
    return text === undefined ? [] : [{ name, text }]
  })
  const [first] = given
  if (first === undefined) return { size, direction: 'forward', position: undefined, filters, scope }
  const { name, text } = first
  if (given.length > 1) throw parameterError(name, 'Send one cursor at a time.')
  const cursor = openCursor(context, scope, text)
  if (cursor === undefined) throw parameterError(name, 'The cursor is not one of this list.')
  for (const [filter, value] of Object.entries(filters))
    if (cursor.filters[filter] !== value)
      throw parameterError(filter, 'The cursor belongs to a list with another filter.')
  const direction = forwardNames.includes(name) ? 'forward' : 'backward'
  return { size, direction, position: cursor.position, filters: cursor.filters, scope }
}

/**
 * Makes a page from rows that were read in the direction of the page, one more than its size. Returns them in the order of
 * the list.
 */
export function pageOf<Row extends { readonly id: string }>(
  context: ServiceContext,
  page: Page,
  rows: readonly Row[],
): { readonly rows: readonly Row[]; readonly pagination: Pagination } {
  const more = rows.length > page.size
  const kept = rows.slice(0, page.size)
  const ordered = page.direction === 'forward' ? kept : kept.toReversed()
  const seal = (row: Row | undefined) => (row === undefined ? null : sealCursor(context, page, row.id))
  const hasNext = page.direction === 'forward' ? more : true
  const hasPrev = page.direction === 'forward' ? page.position !== undefined : more
  return {
    rows: ordered,
    pagination: { next: hasNext ? seal(ordered.at(-1)) : null, prev: hasPrev ? seal(ordered[0]) : null },
  }
}

/** A query parameter as text that the database can compare; `undefined` when it is missing. */
export function readParameter(c: ServiceRequest, name: string): string | undefined {
  const values = c.req.queries(name)
  const [value] = values ?? []
  if (value === undefined) return undefined
  if (values !== undefined && values.length > 1) throw parameterError(name, 'The parameter is there more than once.')
  if (value.length > 1_024 || value.includes('\u0000') || !value.isWellFormed())
    throw parameterError(name, 'The parameter is at most 1,024 characters of well-formed text.')
  return value
}

function readFilters(c: ServiceRequest, names: readonly string[]): Readonly<Record<string, string>> {
  const filters: Record<string, string> = {}
  for (const name of names) {
    const value = readParameter(c, name)
    if (value !== undefined) filters[name] = value
  }
  return filters
}

function readSize(c: ServiceRequest): number {
  const text = readParameter(c, 'page[size]')
  if (text === undefined) return Limits.pageSizeDefault
  const size = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
  if (size < Limits.pageSizeMin || size > Limits.pageSizeMax)
    throw parameterError('page[size]', `The page size is ${Limits.pageSizeMin} to ${Limits.pageSizeMax}.`)
  return size
}

interface Cursor {
  readonly position: string
  readonly filters: Readonly<Record<string, string>>
}

function sealCursor(context: ServiceContext, page: Page, position: string): string {
  const payload = Buffer.from(JSON.stringify([position, page.filters])).toString('base64url')
  return `${payload}.${macOf(context, page.scope, payload)}`
}

function openCursor(context: ServiceContext, scope: string, text: string): Cursor | undefined {
  const [payload, mac] = text.split('.')
  if (payload === undefined || mac === undefined) return undefined
  const given = Buffer.from(mac)
  const expected = Buffer.from(macOf(context, scope, payload))
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  const [position, filters] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [string, Cursor['filters']]
  return { position, filters }
}

function macOf(context: ServiceContext, scope: string, payload: string): string {
  return context.secrets.mac('cursor', `${scope} ${payload}`).slice(0, 22)
}
