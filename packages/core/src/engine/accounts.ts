import type { AccountLimitsChange, AccountState } from '../ports/accounts.ts'
import type { OperatorNote } from '../ports/safety.ts'

/** Names a gateway. An engine with one gateway needs no name. */
export interface AtGateway {
  readonly gateway?: string | undefined
}

/**
 * Commands and reads of a whole account. A command without a gateway is about the account at all gateways. Each one that changes something writes who and
 * why into the audit.
 */
export interface Accounts<Tx> {
  /** Sends the account's transfers that await funds again. Returns how many. */
  fundsArrived(tx: Tx, accountId: string, note?: OperatorNote): Promise<number>
  /**
   * Keeps the account's transfers from being submitted; requests under way are finished. False when it is already paused: the pause stays that of who was first, and the audit has
   * who else wanted it.
   */
  pause(tx: Tx, accountId: string, note?: OperatorNote): Promise<boolean>
  /**
   * Resumes a paused account. `since` is that of the pause that was seen, exactly as {@link Accounts.get} gave it; without it, whichever pause there is ends. False when it is not paused.
   * @throws OutlayError `conflict` when another pause has come in the place of the one that was seen
   */
  resume(tx: Tx, accountId: string, note?: OperatorNote & { readonly since?: string | undefined }): Promise<boolean>
  /**
   * Probes the refused credentials of an account now, without waiting for the backoff of up to five minutes. False when they
   * are not refused.
   */
  retryCredentials(tx: Tx, accountId: string, note?: OperatorNote): Promise<boolean>
  /**
   * Adopts transfers of the account that others create: its automations, or another system. Each becomes a transfer here, once,
   * with the event `transfer.adopted` and then those of its statuses, and is polled like any other. The engine learns of them
   * by webhook and by regular reads of the account's list.
   *
   * Adopts only transfers that the service created at `since` or later; default: five minutes before now. False when the
   * account is already watched, which changes nothing.
   * @throws OutlayError `missing_field`, `invalid_id` for the account; `invalid_request` when `since` is not a date and time.
   */
  watch(
    tx: Tx,
    accountId: string,
    options?: AtGateway & OperatorNote & { readonly since?: string | Date | undefined },
  ): Promise<boolean>
  /**
   * Stops watching for transfers of others. Those that were adopted stay, and those that were found and wait for a decision are
   * still adopted when it is certain whose they are. False when the account is not watched.
   */
  unwatch(tx: Tx, accountId: string, options?: AtGateway & OperatorNote): Promise<boolean>
  /**
   * Changes the limits of an account. An absent member stays as it is; null resets it. The rate (0.01 to 100 000 submissions
   * per second) and the concurrency (1 to 100 000) apply over all workers together, from the commit on. The weight (0.01 to
   * 100, default 1) applies to transfers enqueued from then on; in another process, from about five seconds later.
   *
   * A refusal happens before any SQL.
   * @throws OutlayError `invalid_id`, `invalid_request` with the field
   */
  configure(tx: Tx, accountId: string, change: AccountLimitsChange, note?: OperatorNote): Promise<void>
  /** The state of an account: its limits, which hold at each gateway, and how far it is throttled at the gateway. */
  get(accountId: string, options?: AtGateway): Promise<AccountState>
}
