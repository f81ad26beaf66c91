import { type HttpAnswer, readHeader } from './exchange.ts'
import { redact } from './redaction.ts'
import { readRetryAfterMs } from './retry-after.ts'
import { isRecord } from './wire/json.ts'

/** One entry of an error body that names the member it is about. */
interface RefusalIssue {
  /** In the caller's spelling, for example `destination.wireMemo`. */
  readonly field: string
  readonly code: string | undefined
  readonly message: string
}

/** The content of an answer other than success, for every shape of body. */
export interface Refusal {
  readonly status: number
  /** The service's code: the first in the body, or one that its text implies. */
  readonly code: string | undefined
  /** True when the body has the code as a member; false when it was read from a sentence, whose author is unknown. */
  readonly stated: boolean
  /** One sentence for a person, with everything confidential that was sent redacted. */
  readonly detail: string
  readonly issues: readonly RefusalIssue[]
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined
}

const longestDetail = 500

/** Codes that matter to the caller, with the sentences that imply them when the body has no code. */
const sentences: readonly (readonly [RegExp, string])[] = [
  [/cannot be reused with a different (payload|uri|body|request)/i, 'idempotency_key_mismatch'],
  [/idempotency[-_ ]key[^.]*\bdifferent\b/i, 'idempotency_key_mismatch'],
  [/insufficient[-_ ](balance|funds)/i, 'insufficient_balance'],
  [
    /idempotency[-_ ]key[^.]*\b(missing|required)\b|\b(missing|required)\b[^.]*idempotency[-_ ]key/i,
    'idempotency_key_missing',
  ],
  [/invalid[-_ ]account[-_ ]number|account number is invalid/i, 'invalid_account_number'],
]

/** Codes that say no more than the status. A code from a sentence replaces them. */
const vague = new Set([
  'bad_request',
  'validation_error',
  'unprocessable_entity',
  'unprocessable_content',
  'error',
  'invalid_request',
  'invalid_request_error',
  'api_error',
])

/** Other names of codes that matter to the caller. */
const aliases: Readonly<Record<string, string>> = {
  insufficient_funds: 'insufficient_balance',
  idempotency_mismatch: 'idempotency_key_mismatch',
  idempotency_key_reused: 'idempotency_key_mismatch',
}

const isCode = (value: unknown): value is string =>
  typeof value === 'string' && /^[A-Za-z][A-Za-z0-9_.-]{1,63}$/.test(value)

/** `InsufficientBalance`, `insufficient-balance` and `INSUFFICIENT_BALANCE` are one code. */
const normalize = (code: string): string => {
  const snake = code
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[-.]/g, '_')
    .toLowerCase()
  return aliases[snake] ?? snake
}

const text = (...candidates: unknown[]): string | undefined => {
  const found = candidates.find((candidate) => typeof candidate === 'string' && candidate.trim() !== '')
  return typeof found === 'string' ? found.trim() : undefined
}

/** Turns `/destination/wire_memo` into `destination.wireMemo`. */
const readPointer = (pointer: string): string =>
  pointer
    .replace(/^#?\//, '')
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .filter((part, index) => !(index === 0 && part === 'data'))
    .map((part) => part.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()))
    .join('.')

/** A pointer is not always marked as one. */
const readName = (name: string): string => (name.startsWith('/') ? readPointer(name) : name)

const readIssue = (entry: unknown): RefusalIssue | undefined => {
  if (typeof entry === 'string')
    return { field: '', code: isCode(entry) ? normalize(entry) : undefined, message: entry }
  if (!isRecord(entry)) return undefined
  const source = isRecord(entry.source) ? entry.source : entry
  const pointer = text(source.pointer)
  const named = text(source.parameter, entry.field, entry.path, entry.source, entry.name) ?? ''
  const field = pointer === undefined ? readName(named) : readPointer(pointer)
  const code = [entry.code, entry.type].find(isCode)
  const message = text(entry.detail, entry.message, entry.title, entry.description) ?? code ?? 'refused'
  return { field, code: code === undefined ? undefined : normalize(code), message }
}

/** Entries about members: `errors`, or `values` without it. A text in `values` may be what was sent, and says nothing about it. */
const readIssues = (entries: readonly unknown[], values: unknown): readonly RefusalIssue[] => {
  const chosen = entries.length === 0 && Array.isArray(values) ? values.filter(isRecord) : entries
  return chosen.map(readIssue).filter((issue) => issue !== undefined)
}

/** Last part of a problem type, `https://example.com/problems/insufficient-balance` or `urn:problem:insufficient-balance`. */
const readProblemType = (type: unknown): string | undefined => {
  if (typeof type !== 'string' || type === 'about:blank') return undefined
  const tail = type.split(/[/:#]/).at(-1)
  return isCode(tail) ? tail : undefined
}

interface Body {
  readonly code: string | undefined
  readonly detail: string | undefined
  readonly issues: readonly RefusalIssue[]
}

const readBody = (body: unknown): Body => {
  if (typeof body === 'string') return { code: undefined, detail: text(body), issues: [] }
  if (Array.isArray(body)) return readBody({ errors: body })
  if (!isRecord(body)) return { code: undefined, detail: undefined, issues: [] }
  const inner = isRecord(body.error) ? body.error : {}
  const entries = [body.errors, inner.errors, inner.details].find(Array.isArray) ?? []
  const issues = readIssues(entries, body.values)
  const codes = [body.code, inner.code, body.error_code, body.error, ...issues.map((issue) => issue.code)]
    .concat(inner.type, readProblemType(body.type))
    .filter(isCode)
    .map(normalize)
  const detail = text(body.detail, body.message, inner.message, inner.detail, body.error_description, body.error)
  return {
    code: codes.find((code) => !vague.has(code)) ?? codes[0],
    detail: detail ?? issues[0]?.message ?? text(body.title, inner.title),
    issues,
  }
}

const parse = (answer: HttpAnswer): unknown => {
  if (answer.text.trim() === '') return undefined
  try {
    return JSON.parse(answer.text)
  } catch {
    // The page of a proxy has nothing useful for a log line.
    return /^\s*</.test(answer.text) ? undefined : answer.text
  }
}

/**
 * Reads an answer other than success: problem+json, `{code, values: […]}`, `{error: {code}}`, `{error: "code"}`,
 * `{errors: [{code}]}`, `{type, message}`, plain text, a proxy's page, or nothing.
 *
 * `confidential` lists values that a message must not contain: the token, the client secret, account numbers that were sent.
 */
export function readRefusal(answer: HttpAnswer, now: Date, confidential: readonly string[]): Refusal {
  const body = readBody(parse(answer))
  const clean = (value: string) => redact(value, confidential).slice(0, longestDetail)
  const given = [body.detail ?? '', ...body.issues.map((issue) => issue.message)].join('\n')
  const implied =
    answer.status >= 400 && answer.status < 500 ? sentences.find(([pattern]) => pattern.test(given))?.[1] : undefined
  const code = body.code === undefined || vague.has(body.code) ? (implied ?? body.code) : body.code
  return {
    status: answer.status,
    code: code === undefined ? undefined : clean(code),
    stated: code !== undefined && code === body.code,
    detail: clean(body.detail ?? code ?? `HTTP ${answer.status}`),
    issues: body.issues.map((issue) => ({ ...issue, field: clean(issue.field), message: clean(issue.message) })),
    requestId: readRequestId(answer),
    retryAfterMs: readRetryAfterMs(readHeader(answer, 'retry-after'), now),
  }
}

/** The id that the service gave to the request, from its header. */
export function readRequestId(answer: HttpAnswer): string | undefined {
  const id = readHeader(answer, 'x-request-id') ?? readHeader(answer, 'request-id')
  return id === undefined || !/^[\x21-\x7e]{1,128}$/.test(id) ? undefined : id
}
