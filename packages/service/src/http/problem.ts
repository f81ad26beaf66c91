import { type ErrorCode, type Issue, OutlayError } from '@outlay/core'
import { mostErrors } from '../schema/problem.ts'

/** The member of the request that breaks a rule. */
export type ProblemSource = { readonly pointer: string } | { readonly parameter: string } | { readonly header: string }

/** The body of every refusal, `application/problem+json`. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  /** The same sentence as `detail`. */
  readonly message: string
  readonly request_id: string
  /** The members that break a rule, as the pointers, parameters and headers of `errors` have them. */
  readonly values: readonly string[]
  /** At least one. */
  readonly errors: readonly {
    readonly code: string
    readonly status: string
    readonly title: string
    readonly detail: string
    readonly source?: ProblemSource
  }[]
}

/** A problem and its headers. */
export interface ProblemResponse {
  readonly problem: Problem
  readonly headers: Readonly<Record<string, string>>
  /** True when the request does not explain the error. It is logged, and its cause is not returned. */
  readonly unexpected: boolean
}

const statuses: Partial<Record<ErrorCode, number>> = {
  idempotency_key_missing: 400,
  idempotency_key_invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  transfer_not_found: 404,
  conflict: 409,
  idempotency_key_in_flight: 409,
  transfer_not_cancelable: 409,
  rate_limited: 429,
  not_migrated: 503,
  insufficient_privilege: 503,
  schema_too_new: 503,
  queue_version_untested: 503,
  service_unavailable: 503,
  outcome_unknown: 503,
  unreadable_response: 503,
  aborted: 503,
  account_moving: 503,
}

const titles: Readonly<Record<number, string>> = {
  400: 'Bad request',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Conflict',
  413: 'Body too large',
  415: 'Unsupported media type',
  422: 'The request cannot be processed',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Service unavailable',
}

/** HTTP status of an error code: 422 unless it is listed. */
export function statusOf(code: ErrorCode): number {
  return statuses[code] ?? 422
}

/**
 * A refusal of a query parameter or a header. Its field starts with `?` or ends with `:`, which distinguishes it from a member
 * of the body.
 */
export function parameterError(name: string, message: string): OutlayError {
  return new OutlayError('invalid_request', message, { field: `?${name}` })
}

/** Turns any thrown value into a problem. Anything but an {@link OutlayError} becomes a 500 without details. */
export function problemOf(error: unknown, requestId: string): ProblemResponse {
  if (!OutlayError.is(error)) return internal(requestId)
  const status = isRefusal(error.status) ? error.status : statusOf(error.code)
  const headers: Record<string, string> = {}
  if (status === 401) headers['www-authenticate'] = 'Bearer error="invalid_token"'
  if (error.retryAfterMs !== undefined)
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)))
  const title = titles[status] ?? 'Refused'
  return {
    headers,
    unexpected: status >= 500,
    problem: {
      type: `urn:outlay:error:${error.code}`,
      title,
      status,
      detail: error.message,
      code: error.code,
      message: error.message,
      request_id: requestId,
      ...partsOf(error, status, title),
    },
  }
}

/** Every broken rule. A refusal of the request as a whole is one. */
function partsOf(
  { issues, code, message }: OutlayError,
  status: number,
  title: string,
): Pick<Problem, 'values' | 'errors'> {
  if (issues.length === 0) return { values: [], errors: [{ code, status: String(status), title, detail: message }] }
  const errors = issues.slice(0, mostErrors).map((issue) => ({
    code: issue.code,
    status: String(statusOf(issue.code)),
    title: titles[statusOf(issue.code)] ?? title,
    detail: issue.message,
    ...sourceOf(issue),
  }))
  return { values: errors.flatMap(({ source }) => (source === undefined ? [] : Object.values(source))), errors }
}

function isRefusal(status: number | undefined): status is number {
  return status !== undefined && status >= 400 && status < 500
}

function internal(requestId: string): ProblemResponse {
  const detail = 'The service failed. Send the request again with the same key.'
  return {
    headers: {},
    unexpected: true,
    problem: {
      type: 'urn:outlay:error:internal_error',
      title: 'Internal error',
      status: 500,
      detail,
      code: 'internal_error',
      message: detail,
      request_id: requestId,
      values: [],
      errors: [{ code: 'internal_error', status: '500', title: 'Internal error', detail }],
    },
  }
}

function sourceOf(issue: Issue): { readonly source?: ProblemSource } {
  if (issue.field.startsWith('?')) return { source: { parameter: issue.field.slice(1) } }
  if (issue.field.endsWith(':')) return { source: { header: issue.field.slice(0, -1) } }
  if (issue.field === '') return { source: { pointer: '' } }
  return { source: { pointer: `/${issue.field.replaceAll('.', '/')}` } }
}
