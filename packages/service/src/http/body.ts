import { OutlayError } from '@outlay/core'
import { spelledTwice } from '@outlay/core/adapter'
import { routePath } from 'hono/route'
import { checkShape } from './body-shape.ts'
import type { ServiceRequest } from './request.ts'

/** Maximum size of a body, in octets. */
const maxBodyBytes = 256 * 1024

/** Deepest nesting of objects and arrays in a JSON body. */
const maxBodyDepth = 16

/** Most members and items in a JSON body, which take time one by one. An account with a hundred owners has about a thousand. */
const maxBodyValues = 5_000

/**
 * Reads a JSON body of bounded size and depth, and checks its shape.
 * @throws OutlayError what {@link readAnyJson} and {@link checkBody} throw.
 */
export async function readJson(c: ServiceRequest): Promise<unknown> {
  const body = await readAnyJson(c)
  checkBody(c, body)
  return body
}

/**
 * Checks the shape of a body against the schema that the document shows for this route.
 * @throws OutlayError `missing_field`, `invalid_id`, `invalid_amount` or `invalid_request`, naming the members.
 */
export function checkBody(c: ServiceRequest, body: unknown): void {
  const documented = c.get('findOperation')(c.req.method, routePath(c))?.body
  if (documented !== undefined) checkShape(documented, body)
}

/**
 * Reads a JSON body of bounded size and depth and of any shape.
 * @throws OutlayError `invalid_request` with status 415, 413 or 400, as for a member that is there twice or in both spellings, or 422 for text that cannot
 *   be stored.
 */
export async function readAnyJson(c: ServiceRequest): Promise<unknown> {
  const type = c.req.header('content-type')
  if (type !== undefined && !/^application\/([a-z0-9.-]+\+)?json\b/i.test(type))
    throw refusal(415, 'Send the body as application/json.')
  const text = await readText(c, maxBodyBytes)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw refusal(400, 'The body is not JSON.')
  }
  const counts = { members: 0, values: 0 }
  checkValue(body, { field: '', depth: 0, counts })
  if (counts.members !== countMembers(text)) throw refusal(400, 'A member is there more than once.')
  return body
}

/** Reads a form-encoded body of bounded size. */
export async function readForm(c: ServiceRequest): Promise<URLSearchParams> {
  return new URLSearchParams(await readText(c, 16 * 1024))
}

/** The body when it is an object; refuses everything else. */
export function asObject(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new OutlayError('invalid_request', 'The body must be a JSON object.', { field: '' })
  return body as Readonly<Record<string, unknown>>
}

async function readText(c: ServiceRequest, maxBytes: number): Promise<string> {
  const announced = c.req.header('content-length')
  if (announced !== undefined && Number(announced) > maxBytes) throw tooLarge(maxBytes)
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    if (announced !== undefined) chunks.push(new Uint8Array(await c.req.arrayBuffer()))
    else {
      for await (const chunk of c.req.raw.body ?? []) {
        length += chunk.length
        if (length > maxBytes) break
        chunks.push(chunk)
      }
    }
  } catch {
    // The client disconnected, or exceeded the server's time limits. No one reads this answer, and the service did not fail.
    throw refusal(400, 'The body broke off.')
  }
  const body = Buffer.concat(chunks)
  if (length > maxBytes || body.length > maxBytes) throw tooLarge(maxBytes)
  try {
    return utf8.decode(body)
  } catch {
    throw refusal(400, 'The body is not UTF-8.')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** How many members the objects of a JSON text have. Between its strings, only a member has a colon. */
function countMembers(text: string): number {
  let count = 0
  for (const between of text.split(/"(?:[^"\\]|\\.)*"/)) if (between.includes(':')) count += 1
  return count
}

/** Where a value of a body is, and what was counted so far. */
interface Place {
  readonly field: string
  readonly depth: number
  /** Members of objects; members and items. */
  readonly counts: { members: number; values: number }
}

/** Checks a value of a body, and counts the members of its objects. */
function checkValue(value: unknown, { field, depth, counts }: Place): void {
  if (typeof value === 'string') checkText(value, field)
  // JSON has no infinity, yet a literal such as 1e400 is read as one.
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new OutlayError('invalid_request', 'Numbers must be finite.', { field })
  if (typeof value !== 'object' || value === null) return
  if (depth >= maxBodyDepth) throw refusal(400, `The body is nested deeper than ${maxBodyDepth} levels.`)
  const isArray = Array.isArray(value)
  const size = isArray ? value.length : Object.keys(value).length
  counts.values += size
  if (counts.values > maxBodyValues) throw refusal(400, `The body has more than ${maxBodyValues} members and items.`)
  if (!isArray) {
    counts.members += size
    if (spelledTwice(value as Readonly<Record<string, unknown>>) !== undefined)
      throw refusal(400, 'A member is there in both spellings.')
  }
  const prefix = field === '' ? '' : `${field}.`
  for (const [name, member] of Object.entries(value)) {
    checkText(name, field)
    checkValue(member, { field: prefix + name, depth: depth + 1, counts })
  }
}

function checkText(text: string, field: string): void {
  if (text.includes('\u0000') || !text.isWellFormed())
    throw new OutlayError('invalid_request', 'Text must be well-formed Unicode without NUL.', { field })
}

function tooLarge(maxBytes: number): OutlayError {
  return refusal(413, `The body is larger than ${maxBytes} octets.`)
}

function refusal(status: number, message: string): OutlayError {
  return new OutlayError('invalid_request', message, { status })
}
