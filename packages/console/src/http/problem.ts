import { type ErrorCode, OutlayError } from '@outlay/core'
import { z } from 'zod'
import { component } from '../component.ts'
import { foreignText } from '../redaction.ts'

/** Most broken rules that a refusal names. */
const mostErrors = 100

/** `application/problem+json`. */
export const problemSchema = component(
  'Problem',
  z.object({
    type: z.string().meta({ description: 'URN of the code.' }),
    title: z.string(),
    status: z.int(),
    detail: foreignText,
    code: z.string().meta({ description: 'Stable code, as the errors of the engine have it.' }),
    next: z.string().meta({ description: 'What to do next.' }),
    requestId: z.string().meta({ description: 'The same as the header `x-request-id`.' }),
    errors: z
      .array(
        z.object({
          code: z.string(),
          detail: foreignText,
          source: z
            .union([z.object({ pointer: z.string() }), z.object({ parameter: z.string() })])
            .optional()
            .meta({ description: 'JSON pointer into the body, or the name of a parameter.' }),
        }),
      )
      .min(1)
      .max(mostErrors),
  }),
)

/** Why a request was refused, and what to do next. */
export type Problem = z.output<typeof problemSchema>

/** A problem, its headers, and whether the log has to have it. */
export interface ProblemAnswer {
  readonly problem: Problem
  readonly headers: Readonly<Record<string, string>>
  readonly unexpected: boolean
}

const statuses: Partial<Record<ErrorCode, number>> = {
  unauthenticated: 401,
  forbidden: 403,
  approval_refused: 403,
  not_found: 404,
  transfer_not_found: 404,
  conflict: 409,
  transfer_not_cancelable: 409,
  idempotency_key_mismatch: 409,
  subscription_attended: 409,
  events_undelivered: 409,
  environment_mismatch: 409,
  rate_limited: 429,
  not_migrated: 503,
  insufficient_privilege: 503,
  schema_too_new: 503,
  queue_version_untested: 503,
  database_unfamiliar: 503,
  service_unavailable: 503,
  node_unavailable: 503,
  wrong_node: 503,
  outcome_unknown: 503,
  unreadable_response: 503,
  aborted: 503,
}

const phrases: Readonly<Record<number, readonly [title: string, next: string]>> = {
  400: ['Bad request', 'Correct the request, and send it again.'],
  401: ['Not authenticated', 'Log in, and send the request again.'],
  403: ['Not allowed', 'Ask somebody who has the permission, or whoever gives permissions.'],
  404: ['Not found', 'Check the id, or search for it in a list.'],
  405: ['Method not allowed', 'Use a method that the header "allow" names.'],
  409: ['Conflict', 'Read it again, and decide anew.'],
  413: ['Body too large', 'Send less in one request.'],
  415: ['Unsupported media type', 'Send the body as application/json.'],
  422: ['The request cannot be processed', 'Correct what "errors" names, and send the request again.'],
  429: ['Too many requests', 'Wait as long as "retry-after" says, and send the request again.'],
  500: ['Internal error', 'Read what it is about before you repeat an action; the log has the cause.'],
  503: ['Not available now', 'Read what it is about before you repeat an action, and try again in a while.'],
}

/** Refuses a request as a whole. */
export const refusal = (status: number, message: string, code: ErrorCode = 'invalid_request'): OutlayError =>
  new OutlayError(code, message, { status })

/** Refuses a query parameter: its field starts with `?`, which distinguishes it from a member of the body. */
export const parameterError = (name: string, message: string): OutlayError =>
  new OutlayError('invalid_request', `${name}: ${message}`, { field: `?${name}` })

/** What is not there for this person: whether it exists for others makes no difference. */
export const notFound = (): OutlayError => new OutlayError('not_found', 'There is nothing at this address.')

/** Somebody may not do what they asked for. */
export const forbidden = (permission: string, where: string): OutlayError =>
  refusal(403, `This needs the permission "${permission}" ${where}.`, 'forbidden')

/** Errors of Postgres after which nothing was changed, by SQLSTATE. */
const rolledBack: Readonly<Record<string, string>> = {
  '55P03': 'Another session has locked what this needs. Nothing was changed.',
  '57014': 'The database took too long. Nothing was changed.',
  '40001': 'Others changed the same at this moment. Nothing was changed.',
  '40P01': 'Others changed the same at this moment. Nothing was changed.',
  '42501': 'The role that this console has in the database may not do that. Nothing was changed.',
  '25006': 'The database of this console is read-only. Nothing was changed.',
}

function codeOf(error: unknown): string | undefined {
  try {
    const { code, cause } = error as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } }
    const own = typeof code === 'string' && code in rolledBack ? code : cause?.code
    return typeof own === 'string' ? own : undefined
  } catch {
    return undefined
  }
}

/** Makes a problem of whatever was thrown. What is no refusal becomes a 500 without its text. */
export function problemOf(error: unknown, requestId: string): ProblemAnswer {
  const said = rolledBack[codeOf(error) ?? '']
  if (said !== undefined) return write(new OutlayError('service_unavailable', said), requestId, true)
  if (OutlayError.is(error)) return write(error, requestId)
  const problem = partsOf('internal_error', 500, 'The request failed.', requestId)
  return { problem, headers: {}, unexpected: true }
}

function write(error: OutlayError, requestId: string, isLogged = false): ProblemAnswer {
  const status = error.status !== undefined && error.status in phrases ? error.status : (statuses[error.code] ?? 422)
  const { retryAfterMs } = error
  const headers: Record<string, string> =
    retryAfterMs === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }
  const errors = error.issues.slice(0, mostErrors).map(({ code, message, field }) => ({
    ...{ code, detail: message },
    ...sourceOf(field),
  }))
  const problem = partsOf(error.code, status, error.message, requestId)
  return {
    headers,
    // One that says when to ask again is no failure.
    unexpected: isLogged || (status >= 500 && retryAfterMs === undefined),
    problem: problemSchema.parse(errors.length === 0 ? problem : { ...problem, errors }),
  }
}

function partsOf(code: string, status: number, detail: string, requestId: string): Problem {
  const [title, next] = phrases[status] ?? ['Refused', 'Correct the request, and send it again.']
  return {
    ...{ type: `urn:outlay:error:${code}`, title, status, detail, code, next, requestId },
    errors: [{ code, detail }],
  }
}

function sourceOf(field: string): Pick<Problem['errors'][number], 'source'> {
  if (field.startsWith('?')) return { source: { parameter: field.slice(1) } }
  return { source: { pointer: field === '' ? '' : `/${field.replaceAll('.', '/')}` } }
}
