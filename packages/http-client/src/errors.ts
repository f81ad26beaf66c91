import { type ErrorCode, errorCodes, type Obstacle, OutlayError } from '@outlay/core'
import type { Attempt } from './connection.ts'
import { isDecidedBehindKey } from './proof.ts'
import { collectSensitive } from './redaction.ts'
import { type Refusal, readRefusal } from './refusal.ts'
import type { Call } from './request.ts'

/** The `cause` of an {@link OutlayError} of this package: the answer of the service. */
export interface ServiceAnswer {
  /** The service's own code, also where the error's code is a broader one. */
  readonly code: string | undefined
  readonly detail: string
  /** Key of the create that failed. Retry with this key. */
  readonly idempotencyKey: string | undefined
}

/** Codes that only the client reports. One that a service sends is ignored. */
const ownCodes: ReadonlySet<string> = new Set<ErrorCode>([
  'service_unavailable',
  'outcome_unknown',
  'unreadable_response',
  'rejected_by_service',
  'aborted',
  'no_transaction',
  'not_migrated',
  'insufficient_privilege',
  'schema_too_new',
  'queue_version_untested',
  'webhook_signature_invalid',
  'webhook_timestamp_out_of_tolerance',
])

const readCode = (code: string | undefined): ErrorCode | undefined =>
  errorCodes.find((known) => known === code && !ownCodes.has(known))

const byStatus: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthenticated',
  403: 'forbidden',
  404: 'not_found',
  429: 'rate_limited',
}

/** Code of a refusal: from the status where that is enough, otherwise the service's own code when it is known. */
function classifyRefusal(refusal: Refusal): ErrorCode {
  if (refusal.status >= 500 || refusal.status === 408) return 'service_unavailable'
  if (refusal.status < 400) return 'unreadable_response'
  const fallback = refusal.status === 409 ? 'conflict' : 'rejected_by_service'
  return byStatus[refusal.status] ?? readCode(refusal.code) ?? fallback
}

/** Reads the refusal of an attempt and redacts everything confidential of its call. */
export function readAttemptRefusal(call: Call, attempt: Attempt & { kind: 'answer' }, now: Date): Refusal {
  const sent = call.body === undefined ? [] : collectSensitive(JSON.parse(call.body))
  return readRefusal(attempt.answer, now, [attempt.token, ...sent])
}

/**
 * Makes the error of an attempt that did not succeed.
 *
 * `outcomeUnknown` is true when this or an earlier attempt may have taken effect without an answer. Then the code of everything
 * but a definite refusal is `outcome_unknown`, and only a retry with the same idempotency key is safe.
 */
export function createAttemptError(call: Call, attempt: Attempt, now: Date, outcomeUnknown: boolean): OutlayError {
  if (attempt.kind === 'answer') return createAnswerError(call, attempt, now, outcomeUnknown)
  const { detail } = attempt
  const cause: ServiceAnswer = { code: undefined, detail, idempotencyKey: call.idempotencyKey }
  const options = {
    cause,
    retryAfterMs: attempt.kind === 'unavailable' ? attempt.retryAfterMs : undefined,
    obstacle: attempt.kind === 'denied' ? undefined : attempt.obstacle,
  }
  if (attempt.kind === 'denied' && !(outcomeUnknown && call.idempotencyKey !== undefined)) {
    return new OutlayError('unauthenticated', `no access: ${detail}`, { ...options, status: attempt.status })
  }
  if (attempt.kind === 'failure' && attempt.reason === 'aborted') {
    return new OutlayError('aborted', outcomeUnknown ? `${detail}; ${advise(call)}` : detail, options)
  }
  if (outcomeUnknown) return new OutlayError('outcome_unknown', `${detail}; ${advise(call)}`, options)
  return new OutlayError('service_unavailable', detail, options)
}

const advise = (call: Call): string =>
  call.idempotencyKey === undefined
    ? 'whether it took effect is unknown'
    : 'whether it took effect is unknown: retry with the same idempotency key'

/** Statuses that alone say that the service did not execute the request. */
const refusedByStatus: readonly number[] = [401, 403, 429]

/**
 * Whether the outcome is still unknown after an answer other than success. For a create, it stays unknown if it was, unless the
 * service checked the key first. It is also unknown after a refusal without a code, which may be the page of a proxy.
 */
const createAnswerError = (call: Call, attempt: Attempt & { kind: 'answer' }, now: Date, before: boolean) => {
  const refusal = readAttemptRefusal(call, attempt, now)
  const { status, stated } = refusal
  if (call.idempotencyKey === undefined) {
    // A page that says 404 without a code may be of somebody else, who knows nothing: it is no absence.
    const isNobodys = status === 404 && !stated
    return isNobodys
      ? createRefusalError(call, refusal, before, 'service_unavailable', 'misconfigured')
      : createRefusalError(call, refusal, before)
  }
  const isPage = !stated && status >= 400 && status < 500 && !refusedByStatus.includes(status)
  if (isPage || (before && !isDecidedBehindKey(attempt.answer, refusal))) {
    return createRefusalError(call, refusal, true, 'outcome_unknown')
  }
  return createRefusalError(call, refusal, before)
}

const createRefusalError = (
  call: Call,
  refusal: Refusal,
  outcomeUnknown: boolean,
  decided?: ErrorCode,
  obstacle?: Obstacle,
): OutlayError => {
  const { status, code: serviceCode, detail, requestId, retryAfterMs } = refusal
  const found = classifyRefusal(refusal)
  const transient = found === 'service_unavailable' || found === 'rate_limited' || found === 'unreadable_response'
  const code = decided ?? (outcomeUnknown && transient ? 'outcome_unknown' : found)
  const cause: ServiceAnswer = { code: serviceCode, detail, idempotencyKey: call.idempotencyKey }
  const hint = obstacle === 'misconfigured' ? '; is the path of baseUrl right?' : ''
  const message = `the service answered ${[status, serviceCode].filter(Boolean).join(' ')}: ${detail}${hint}`
  const issues = refusal.issues
    .filter((issue) => issue.field !== '')
    .map((issue) => ({ field: issue.field, code: readCode(issue.code) ?? code, message: issue.message }))
  return new OutlayError(code, message, { cause, status, requestId, retryAfterMs, issues, obstacle })
}
