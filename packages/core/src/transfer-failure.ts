/** Why a transfer failed. */
export interface TransferFailure {
  /** The cause of the failure. `not_paid` comes from no service: a person recorded it. */
  readonly type: 'rejected' | 'returned' | 'expired' | 'insufficient_balance' | 'service_error' | 'not_paid' | 'unknown'
  /** Code of the service or the rail, for example `invalid_account_number` or `R03`. */
  readonly code: string
  readonly detail: string
  /** ISO 8601, UTC. The beginning of 1970 where the service gave no time that can be read. */
  readonly occurredAt: string
  /** True when the same transfer may still continue: the only way out of `failed`. */
  readonly retriable: boolean
  readonly achReturn?: { readonly code: string; readonly reason: string; readonly category: string } | undefined
}
