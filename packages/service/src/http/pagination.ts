import { timingSafeEqual } from 'node:crypto'
import { Limits } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import type { FoundRows } from '../database/examined-page.ts'
import { parameterError } from './problem.ts'
import type { ServiceRequest } from './request.ts'

/** The requested page of a list, with the filters of the list. */
export interface Page {
  /** 1 to 100. */
  readonly size: number
  /** `forward`: what follows the position in the list's order; `backward`: what precedes it, nearest first. */
  readonly direction: 'forward' | 'backward'
  /** Position at which the page starts, not included; `undefined` at the end of the list from which its direction leads away. */
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
  return { size, direction, position: cursor.position ?? undefined, filters: cursor.filters, scope }
}

/**
 * Makes a page from rows that were read in the direction of the page, one more than its size. Returns them in the order of
 * the list. A page for which the most rows were examined may be short or empty, and has the cursor that goes on behind them.
 * `positionOf` gives what the position of a row is, by default its id.
 */
export function pageOf<Row extends { readonly id: string }>(
  context: ServiceContext,
  page: Page,
  found: FoundRows<Row>,
  positionOf: (row: Row) => string = ({ id }) => id,
): { readonly rows: readonly Row[]; readonly pagination: Pagination } {
  const kept = found.rows.slice(0, page.size)
  const seal = (row: Row | undefined) => sealCursor(context, page, row === undefined ? null : positionOf(row))
  const further = found.rows.length > page.size ? kept.at(-1) : found.edge
  const onward = further === undefined ? null : seal(further)
  // An empty page leads back over what it has examined, or to the end of the list.
  const isFirst = page.direction === 'forward' && page.position === undefined
  const back = isFirst ? null : seal(kept[0] ?? found.edge)
  return page.direction === 'forward'
    ? { rows: kept, pagination: { next: onward, prev: back } }
    : { rows: kept.toReversed(), pagination: { next: back, prev: onward } }
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
  /** Null for the end of the list at which its direction begins. */
  readonly position: string | null
  readonly filters: Readonly<Record<string, string>>
}

function sealCursor(context: ServiceContext, page: Page, position: Cursor['position']): string {
  const payload = Buffer.from(JSON.stringify([position, page.filters])).toString('base64url')
  return `${payload}.${macOf(context, page.scope, payload)}`
}

function openCursor(context: ServiceContext, scope: string, text: string): Cursor | undefined {
  const [payload, mac, ...rest] = text.split('.')
  if (payload === undefined || mac === undefined || rest.length > 0) return undefined
  const given = Buffer.from(mac)
  const expected = Buffer.from(macOf(context, scope, payload))
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  const [position, filters] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [
    Cursor['position'],
    Cursor['filters'],
  ]
  return { position, filters }
}

function macOf(context: ServiceContext, scope: string, payload: string): string {
  return context.secrets.mac('cursor', `${scope} ${payload}`).slice(0, 22)
}
