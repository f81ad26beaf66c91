/**
 * Every code that an {@link OutlayError} can carry: one closed union, stable across releases.
 *
 * Refusals of a request come first, then answers of the service, then errors of the engine and its backend.
 */
export const errorCodes = [
  // The request breaks a rule: nothing was written, nothing was sent.
  'invalid_request',
  'missing_field',
  'response_only_field',
  'invalid_id',
  'invalid_amount',
  'amount_not_positive',
  'amount_too_precise',
  'amount_too_large',
  'currency_mismatch',
  'unknown_value_type',
  'unknown_transfer_type',
  'invalid_address',
  'address_checksum_mismatch',
  'mixed_chains',
  'mixed_environments',
  'transfer_type_not_supported',
  'invalid_account_number',
  'invalid_routing_number',
  'invalid_clabe',
  'unsupported_flow',
  'ach_limit_exceeded',
  'swap_chain_mismatch',
  'peg_mismatch',
  'quote_mismatch',
  'brand_not_supported',
  'wire_memo_not_supported',
  'wire_memo_too_long',
  'note_too_long',
  'metadata_too_large',
  'idempotency_key_missing',
  'idempotency_key_invalid',
  'idempotency_key_mismatch',
  'idempotency_key_in_flight',
  // The service's answers.
  'insufficient_balance',
  'account_not_ready',
  'payee_not_ready',
  'address_archived',
  'quote_refused',
  'quote_expired',
  'quote_used',
  'bank_login_required',
  'balance_not_available',
  'unauthenticated',
  'forbidden',
  'not_found',
  'conflict',
  'rate_limited',
  'service_unavailable',
  'outcome_unknown',
  'unreadable_response',
  'rejected_by_service',
  'aborted',
  // The engine and its backend.
  'no_transaction',
  'transfer_not_found',
  'transfer_not_cancelable',
  'policy_refused',
  'approval_refused',
  'subscription_attended',
  'events_undelivered',
  'environment_mismatch',
  'database_unfamiliar',
  'not_migrated',
  'insufficient_privilege',
  'schema_too_new',
  'queue_version_untested',
  'webhook_signature_invalid',
  'webhook_timestamp_out_of_tolerance',
  'wrong_node',
  'node_unavailable',
  'policy_unknown',
  'account_moving',
] as const

/** A stable error code. */
export type ErrorCode = (typeof errorCodes)[number]

/** Why requests do not get through, whatever they ask for. */
export const obstacles = ['unreachable', 'misconfigured', 'credentials_unavailable'] as const

/**
 * Why a request did not get through. `unreachable`: no connection, such as a refused one or a name without an address.
 * `misconfigured`: something that only a person can correct, such as a path that does not exist or a certificate that is not
 * trusted. `credentials_unavailable`: the host's code did not return the credentials.
 */
export type Obstacle = (typeof obstacles)[number]

/** One broken rule: which member of the input, which rule, and how to fix it. */
export interface Issue {
  /** Path of the member in the caller's own spelling, for example `destination.wireMemo`; empty for the whole input. */
  readonly field: string
  readonly code: ErrorCode
  /** One sentence for a person. */
  readonly message: string
}

/** Members of an {@link OutlayError}. */
export interface OutlayErrorOptions {
  readonly field?: string | undefined
  readonly issues?: readonly Issue[] | undefined
  readonly cause?: unknown
  /** HTTP status of the answer that the error came from. */
  readonly status?: number | undefined
  /** Request id that the service gave to that answer. */
  readonly requestId?: string | undefined
  /** How long the service asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined
  /** What kept the request from getting through. */
  readonly obstacle?: Obstacle | undefined
}

const brand = 'OutlayError'

/**
 * An expected refusal: a broken rule, an answer of the service, a backend that is not ready.
 *
 * Compare with {@link OutlayError.is}, which also works when two copies of this package are installed.
 *
 * @example
 * try { await engine.transfers.enqueue(tx, request) } catch (error) {
 *   if (OutlayError.is(error, 'ach_limit_exceeded')) return showLimit(error.field)
 *   throw error
 * }
 */
export class OutlayError extends Error {
  override readonly name = brand
  readonly code: ErrorCode
  /** Path of the first invalid member, when the error concerns one. */
  readonly field: string | undefined
  /** Every broken rule that was found; at least one for a refused request. */
  readonly issues: readonly Issue[]
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined
  readonly obstacle: Obstacle | undefined

  constructor(code: ErrorCode, message: string, options: OutlayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.issues = options.issues ?? (options.field === undefined ? [] : [{ field: options.field, code, message }])
    this.field = options.field ?? this.issues[0]?.field
    this.status = options.status
    this.requestId = options.requestId
    this.retryAfterMs = options.retryAfterMs
    this.obstacle = options.obstacle
  }

  /** True for an {@link OutlayError} of any copy of this package; with `code`, only for that code. */
  static is<C extends ErrorCode>(error: unknown, code?: C): error is OutlayError & { readonly code: C } {
    if (typeof error !== 'object' || error === null) return false
    const candidate = error as { name?: unknown; code?: unknown }
    if (candidate.name !== brand || !(errorCodes as readonly unknown[]).includes(candidate.code)) return false
    return code === undefined || candidate.code === code
  }

  /** Makes one error of one or more broken rules; the first one gives the code and the message. */
  static fromIssues(issues: readonly [Issue, ...Issue[]]): OutlayError {
    const [first] = issues
    const where = first.field === '' ? '' : `${first.field}: `
    return new OutlayError(first.code, `${where}${first.message}`, { field: first.field, issues })
  }
}
