import type { AccountStatus } from '@outlay/core'
import type { Environment } from '../schema/caller.ts'
import type { NewAccount } from './input.ts'

/** What was submitted for a new account, in clear: `ein`, each `ssn` and the controller too. Never log it. */
export interface AccountSubmission extends NewAccount {
  /** ULID of the account; the reviewer's idempotency key. */
  readonly accountId: string
  readonly environment: Environment
}

/**
 * Reviews new accounts. A deployer implements this port, for example on a provider of KYB checks. Members may be called from several
 * processes at once.
 */
export interface AccountReviewer {
  /**
   * Decides about a new account. `pending` leaves the decision to a later `setAccountStatus`, and the account is not asked about again.
   * Called after the account is registered, outside any transaction. When it rejects or takes longer than 30 seconds, the signal fires
   * and the service asks again later. An account about which somebody else has decided keeps that decision.
   */
  review(submission: AccountSubmission, options: { readonly signal: AbortSignal }): Promise<AccountStatus>
}
