import type { CounterpartyDetails } from '../counterparty.ts'
import type { AccountLimitsChange, AccountState } from './accounts.ts'
import type { Backlog, Delays } from './backlog.ts'
import type { Observation } from './gateway.ts'
import type { Operations, OperatorNote } from './operations.ts'
import type { Runtime } from './runtime.ts'
import type { EnqueuedTransfer, NewTransfer, StoredTransfer } from './stored-transfer.ts'
import type { Claim, ObserveRules, SubscriptionRemoval, Workers, WorkHandlers, WorkOptions } from './work.ts'

/** Which histories to archive next. */
export interface ArchiveStep {
  /** Only of transfers that ended so long ago, in milliseconds. */
  readonly olderThanMs: number
  /** Only of transfers whose ids come behind this one; empty for the first step. */
  readonly after: string
  /** Looks at so many transfers at most. */
  readonly limit: number
  /** Changes nothing and answers as if it had. */
  readonly dryRun: boolean
}

/** What one step came to. */
export interface ArchivedStep {
  /** Transfers whose events and attempts went to the archive. */
  readonly archived: number
  /** Transfers that are old enough, and that a subscription has yet to hear of; dead letters count. */
  readonly held: number
  /** Names of those subscriptions. */
  readonly heldBy: readonly string[]
  /** The last transfer that was looked at: where the next step goes on. Null when none is left. */
  readonly last: string | null
}

/** The database side of the engine. `Tx` is the host's own transaction type. */
export interface Backend<Tx> {
  readonly runtime: Runtime
  /** What may be sent from here, and what a reconciliation writes. */
  readonly operations: Operations<Tx>
  /** Runs `work` in a transaction of its own, in the host's type. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Brings the schema to the version of this release. Safe to run again and from several processes at once. `onStep` hears
   * the name of each step before it runs.
   */
  migrate(onStep?: (name: string) => void): Promise<void>
  /** The same as SQL text, for the host's own migration tool. */
  migrationSql(): string
  /**
   * Throws `not_migrated`, `queue_version_untested`, or `schema_too_new` when a later release has closed the schema to this
   * one; a schema that is merely ahead is fine.
   */
  check(): Promise<void>
  /**
   * Writes transfers, events and jobs in the host's transaction, in the order given. A key that the account already has
   * yields the stored transfer with `reused: true`, whatever its fingerprint; the engine compares. New ones keep the W3C
   * context of the trace that they are enqueued in, when there is one.
   */
  enqueue(
    tx: Tx,
    transfers: readonly NewTransfer[],
    traceparent?: string | undefined,
  ): Promise<readonly EnqueuedTransfer[]>
  /** One transfer as the transaction sees it, or as it is committed when none is given. */
  get(transferId: string, tx?: Tx): Promise<StoredTransfer | undefined>
  getByKey(accountId: string, idempotencyKey: string): Promise<StoredTransfer | undefined>
  /** Details of a counterparty that was never registered; `undefined` when it was, or when they are wiped. */
  counterparty(tx: Tx, transferId: string): Promise<CounterpartyDetails | undefined>
  /**
   * Applies observations of one account in the given transaction; returns how many transfers changed. One with an unknown
   * remote id changes nothing, but is kept in mind: a transfer that turns out to have that id is looked at right away. On
   * a watched account it becomes a transfer here once it is certain that none here stands for it.
   */
  observe(tx: Tx, accountId: string, observations: readonly Observation[], rules: ObserveRules): Promise<number>
  /** Adopts the account's transfers that others make, from `since` on (ISO 8601). False when that is done already. */
  watch(tx: Tx, accountId: string, since: string): Promise<boolean>
  /** Adopts no further ones. False when the account is not watched. */
  unwatch(tx: Tx, accountId: string): Promise<boolean>
  /** Sends the account's transfers that await funds out again with their own keys. Returns how many. */
  fundsArrived(tx: Tx, accountId: string): Promise<number>
  /** Puts one blocked or waiting transfer back into the queue with its own key. False when it is in no such stage. */
  release(tx: Tx, transferId: string): Promise<boolean>
  /** Ends a transfer without an effect. False when it may have one, when it is final, or when there is none. */
  cancel(tx: Tx, transferId: string): Promise<boolean>
  /**
   * Ends the doubt about a blocked transfer: it has this id at the service, or, with null, failed as `not_paid`. Not done when it is
   * not blocked, or there is none; or when `otherId`, a transfer of the same account, has that id at the service;
   * or when it is said that nothing was paid, and `isUnderWay`: a request left a moment ago.
   */
  resolve(
    tx: Tx,
    transferId: string,
    resolution: OperatorNote & { readonly remoteId: string | null },
  ): Promise<{ readonly done: boolean; readonly isUnderWay: boolean; readonly otherId: string | null }>
  /** Keeps an account's transfers from being submitted. False when it is paused already. */
  pause(tx: Tx, accountId: string): Promise<boolean>
  /** Lets a paused account go on. False when it is not paused. */
  resume(tx: Tx, accountId: string): Promise<boolean>
  /** Lets an account whose credentials are refused probe them now. False when they are not refused. */
  credentialsMended(tx: Tx, accountId: string): Promise<boolean>
  /** Changes the limits of an account. */
  configureAccount(tx: Tx, accountId: string, change: AccountLimitsChange): Promise<void>
  /** How an account stands, as it is committed. */
  getAccount(accountId: string): Promise<AccountState>
  backlog(): Promise<Backlog>
  delays(): Promise<Delays>
  /**
   * Moves the events and attempts of some transfers that ended long ago to the archive, in a transaction of its own. The
   * transfers stay, so their keys stay taken. Safe from several processes at once.
   */
  archive(step: ArchiveStep): Promise<ArchivedStep>
  /**
   * Writes as whom a claimed transfer is about to be sent, and that its account's next ones are. False when the claim is not
   * the current one any more, or somebody holds the transfer: then nothing may be sent.
   */
  recordClient(claim: Pick<Claim, 'transferId' | 'attempt'>, client: string): Promise<boolean>
  /**
   * Removes a subscription, or types of it, with the events that it has yet to handle. Changes nothing while there are such
   * events and `discard` is false.
   */
  unsubscribe(tx: Tx, name: string, types: readonly string[] | null, discard: boolean): Promise<SubscriptionRemoval>
  work(handlers: WorkHandlers<Tx>, options: WorkOptions): Promise<Workers>
}
