import { type ErrorCode, type Issue, OutlayError } from '@outlay/core'
import type { z } from 'zod'
import type { Operation } from '../schema/operation.ts'

/**
 * Checks the shape of a body: which members it has and their types. The rules of the domain are checked later. A body in
 * camelCase has the shape if its spelling in snake_case has it.
 * @throws OutlayError `missing_field`, `invalid_id`, `invalid_amount` or `invalid_request`, with every member that is
 *   wrong, in the caller's own spelling. Messages never quote what was sent.
 */
export function checkShape(body: NonNullable<Operation['body']>, given: unknown): void {
  if (body.check === 'route') return
  const schema = body.check === undefined ? body.schema : body.check(given)
  if (schema.safeParse(given).success) return
  const parsed = schema.safeParse(snakeCased(given))
  if (parsed.success) return
  const [first, ...rest] = parsed.error.issues.map((issue) => issueOf(given, issue))
  if (first === undefined) throw new Error('A refused body has no issue.')
  throw OutlayError.fromIssues([first, ...rest])
}

/**
 * Runs checks of a body behind its shape. The members that a refusal names are spelled as the body spells them.
 * @throws what the checks throw.
 */
export async function inSpellingOf<T>(body: unknown, check: () => T | Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    throw OutlayError.is(error) ? respelled(body, error) : error
  }
}

function respelled(body: unknown, error: OutlayError): OutlayError {
  const { code, message, field, status, requestId, retryAfterMs, cause } = error
  const issues = error.issues.map((issue) => ({ ...issue, field: spellingIn(body, issue.field) }))
  if (issues.every((issue, at) => issue.field === error.issues[at]?.field)) return error
  const spelled = field === undefined ? undefined : spellingIn(body, field)
  const isNamed = field !== undefined && message.startsWith(`${field}: `)
  const text = isNamed ? `${spelled}${message.slice(field.length)}` : message
  return new OutlayError(code, text, { field: spelled, issues, status, requestId, retryAfterMs, cause })
}

/** Parameters and headers are no members. */
function spellingIn(body: unknown, field: string): string {
  if (field === '' || field.startsWith('?') || field.endsWith(':')) return field
  return resolveNames(body, field.split('.').map(snake)).path.join('.')
}

const depthLimit = 4

/** A body in the documented spelling, for a schema that reads no other one. */
export function snakeCased(value: unknown, depth = 0): unknown {
  if (!isRecord(value) || depth > depthLimit) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [snake(name), snakeCased(inner, depth + 1)]))
}

function issueOf(body: unknown, issue: z.core.$ZodIssue): Issue {
  const { path, value } = resolveNames(body, issue.path)
  const field = path.join('.')
  if (field !== '' && (value === undefined || value === null))
    return { field, code: 'missing_field', message: 'is required' }
  const code = (issue.code === 'too_big' && tooLong[issue.path.join('.')]) || codeOf(path)
  return { field, code, message: messageOf(issue) }
}

function messageOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`
  if (issue.code === 'invalid_union') return 'is of no known shape'
  if (issue.code !== 'too_big') return issue.message
  return issue.origin === 'array'
    ? `must have at most ${issue.maximum} items`
    : `must be at most ${issue.maximum} characters`
}

/** Text that is too long has the code that the domain has for it. */
const tooLong: Readonly<Record<string, ErrorCode>> = {
  note: 'note_too_long',
  'destination.wire_memo': 'wire_memo_too_long',
}

function codeOf(path: readonly string[]): ErrorCode {
  const last = path.at(-1) ?? ''
  if (/_id$|Id$/.test(last)) return 'invalid_id'
  return path.join('.') === 'amount.value' ? 'invalid_amount' : 'invalid_request'
}

/** The path in the caller's spelling, and the value there. A missing member is spelled like the others. */
function resolveNames(
  body: unknown,
  path: readonly PropertyKey[],
): { readonly path: readonly string[]; readonly value: unknown } {
  const camelCased = !hasUnderscore(body)
  const spelled: string[] = []
  let value = body
  for (const name of path.map(String)) {
    const record = isRecord(value) || Array.isArray(value) ? (value as Readonly<Record<string, unknown>>) : {}
    const isCamel = !(name in record) && (camel(name) in record || camelCased)
    spelled.push(isCamel ? camel(name) : name)
    value = record[isCamel ? camel(name) : name]
  }
  return { path: spelled, value }
}

function hasUnderscore(value: unknown, depth = 0): boolean {
  if (!isRecord(value) || depth > depthLimit) return false
  const entries = Object.entries(value)
  // Without a member of two words the spelling is ambiguous, so the documented one applies.
  if (depth === 0 && !mentionsCamel(value)) return true
  return entries.some(([name, inner]) => name.includes('_') || hasUnderscore(inner, depth + 1))
}

function mentionsCamel(value: unknown, depth = 0): boolean {
  if (!isRecord(value) || depth > depthLimit) return false
  return Object.entries(value).some(([name, inner]) => /[a-z][A-Z]/.test(name) || mentionsCamel(inner, depth + 1))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function snake(name: string): string {
  return name
    .replaceAll(/[A-Z]|[0-9]+/g, (part, at: number) => (at === 0 ? part : `_${part.toLowerCase()}`))
    .replaceAll('__', '_')
}

function camel(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
