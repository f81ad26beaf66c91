import type { AccountLimits, AccountLimitsChange, AccountPause, AccountState } from './accounts.ts'
import type { OperatorNote } from './safety.ts'

/** State and commands of accounts. */
export interface AccountPort<Tx> {
  /** The committed state of an account at a gateway, as `atGateway` writes it. */
  getAccount(account: string): Promise<AccountState>
  /** The limits of an account, which nobody else changes until the transaction ends. */
  lockAccountLimits(tx: Tx, accountId: string): Promise<AccountLimits>
  /** Changes the limits of an account. */
  configureAccount(tx: Tx, accountId: string, change: AccountLimitsChange): Promise<void>
  /** Keeps an account's transfers from being submitted. False when it is already paused. */
  pause(tx: Tx, accountId: string, note: OperatorNote): Promise<boolean>
  /** Resumes a paused account; with `since`, only from the pause of that time. False when there is no such pause. */
  resume(tx: Tx, accountId: string, since: string | undefined): Promise<boolean>
  /** The pause of an account, as the transaction sees it; null where it is not paused. */
  findPause(tx: Tx, accountId: string): Promise<AccountPause | null>
  /** Probes refused credentials of an account now. False when they are not refused. */
  retryCredentials(tx: Tx, accountId: string): Promise<boolean>
  /** Sends the account's transfers that await funds again, with their own keys. Returns how many. */
  fundsArrived(tx: Tx, accountId: string): Promise<number>
  /**
   * Adopts transfers of the account at a gateway, as `atGateway` writes it, that others create, from `since` on (ISO 8601). False when it
   * is already watched.
   */
  watch(tx: Tx, account: string, since: string): Promise<boolean>
  /** Stops watching; what was found before is still decided. False when the account is not watched. */
  unwatch(tx: Tx, account: string): Promise<boolean>
}
