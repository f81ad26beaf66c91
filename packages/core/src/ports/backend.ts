import type { CounterpartyDetails } from '../counterparty.ts'
import type { AccountLimitsChange, AccountState } from './accounts.ts'
import type { Backlog, Delays } from './backlog.ts'
import type { Observation } from './gateway.ts'
import type { Operations, OperatorNote } from './operations.ts'
import type { Runtime } from './runtime.ts'
import type { EnqueuedTransfer, NewTransfer, StoredTransfer } from './stored-transfer.ts'
import type { Claim, ObserveRules, SubscriptionRemoval, Workers, WorkHandlers, WorkOptions } from './work.ts'

/** Selects the transfers whose events and attempts are archived next. */
export interface ArchiveStep {
  /** Only transfers that ended at least this long ago, in milliseconds. */
  readonly olderThanMs: number
  /** Only transfers with a greater id; empty for the first step. */
  readonly after: string
  /** Most transfers to check in this step. */
  readonly limit: number
  /** Changes nothing and returns the result of a real run. */
  readonly dryRun: boolean
}

/** The result of one step. */
export interface ArchivedStep {
  /** Transfers whose events and attempts were archived. */
  readonly archived: number
  /** Transfers that are old enough but have an event not yet delivered to a subscription; dead letters count. */
  readonly held: number
  /** Names of those subscriptions. */
  readonly heldBy: readonly string[]
  /** The last transfer checked: the next step starts after it. Null when none is left. */
  readonly last: string | null
}

/** The database side of the engine. `Tx` is the host's own transaction type. */
export interface Backend<Tx> {
  readonly runtime: Runtime
  /** What may be sent from this database, and what a reconciliation writes. */
  readonly operations: Operations<Tx>
  /** Runs `work` in a transaction of its own, in the host's type. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * Brings the schema to the version of this release. Safe to repeat and to run from several processes at once. Calls `onStep`
   * with the name of each step before the step runs.
   */
  migrate(onStep?: (name: string) => void): Promise<void>
  /** The same as SQL text, for the host's own migration tool. */
  migrationSql(): string
  /**
   * Throws `not_migrated`, `queue_version_untested`, or `schema_too_new` when a later release has closed the schema to this
   * release. A schema that is only newer is accepted.
   */
  check(): Promise<void>
  /**
   * Writes transfers, events and jobs in the host's transaction, in the order given. For a key that the account already has, it
   * returns the stored transfer with `reused: true`, whatever its fingerprint; the engine compares the fingerprints. New
   * transfers store the W3C trace context in which they are enqueued, if there is one.
   */
  enqueue(
    tx: Tx,
    transfers: readonly NewTransfer[],
    traceparent?: string | undefined,
  ): Promise<readonly EnqueuedTransfer[]>
  /** One transfer as the transaction sees it; without a transaction, as it is committed. */
  get(transferId: string, tx?: Tx): Promise<StoredTransfer | undefined>
  getByKey(accountId: string, idempotencyKey: string): Promise<StoredTransfer | undefined>
  /** Details of a counterparty that was never registered; `undefined` when it was registered, or when the details are wiped. */
  counterparty(tx: Tx, transferId: string): Promise<CounterpartyDetails | undefined>
  /**
   * Applies observations of one account in the given transaction; returns how many transfers changed. An observation with an
   * unknown remote id changes nothing but is recorded: a transfer that later gets that id is polled at once. On a watched
   * account the observed transfer is adopted once it is certain that no transfer here stands for it.
   */
  observe(tx: Tx, accountId: string, observations: readonly Observation[], rules: ObserveRules): Promise<number>
  /** Adopts transfers of the account that others create, from `since` on (ISO 8601). False when the account is already watched. */
  watch(tx: Tx, accountId: string, since: string): Promise<boolean>
  /** Stops adopting. False when the account is not watched. */
  unwatch(tx: Tx, accountId: string): Promise<boolean>
  /** Sends the account's transfers that await funds again, with their own keys. Returns how many. */
  fundsArrived(tx: Tx, accountId: string): Promise<number>
  /** Returns one blocked or waiting transfer to the queue with its own key. False when it is in no such stage. */
  release(tx: Tx, transferId: string): Promise<boolean>
  /** Cancels a transfer that had no effect. False when it may have had one, when it is final, or when it does not exist. */
  cancel(tx: Tx, transferId: string): Promise<boolean>
  /**
   * Resolves a blocked transfer: it has this id at the service or, with null, failed as `not_paid`. Does nothing when the
   * transfer is not blocked or does not exist; when `otherId`, a transfer of the same account, has that id at the service; or
   * when nothing was paid according to the resolution but `isUnderWay`: a request left a moment ago.
   */
  resolve(
    tx: Tx,
    transferId: string,
    resolution: OperatorNote & { readonly remoteId: string | null },
  ): Promise<{ readonly done: boolean; readonly isUnderWay: boolean; readonly otherId: string | null }>
  /** Keeps an account's transfers from being submitted. False when it is already paused. */
  pause(tx: Tx, accountId: string): Promise<boolean>
  /** Resumes a paused account. False when it is not paused. */
  resume(tx: Tx, accountId: string): Promise<boolean>
  /** Probes refused credentials of an account now. False when they are not refused. */
  retryCredentials(tx: Tx, accountId: string): Promise<boolean>
  /** Changes the limits of an account. */
  configureAccount(tx: Tx, accountId: string, change: AccountLimitsChange): Promise<void>
  /** The committed state of an account. */
  getAccount(accountId: string): Promise<AccountState>
  backlog(): Promise<Backlog>
  delays(): Promise<Delays>
  /**
   * Archives the events and attempts of some transfers that ended long ago, in its own transaction. The transfers stay, so
   * their keys stay in use. Safe from several processes at once.
   */
  archive(step: ArchiveStep): Promise<ArchivedStep>
  /**
   * Records the client as which a claimed transfer is about to be sent, also for the next transfers of its account. False when
   * the claim is no longer the current one, or when another transaction has locked the transfer: then nothing may be sent.
   */
  recordClient(claim: Pick<Claim, 'transferId' | 'attempt'>, client: string): Promise<boolean>
  /**
   * Removes a subscription, or some of its types, with its undelivered events. Changes nothing when there are such events and
   * `discard` is false.
   */
  unsubscribe(tx: Tx, name: string, types: readonly string[] | null, discard: boolean): Promise<SubscriptionRemoval>
  work(handlers: WorkHandlers<Tx>, options: WorkOptions): Promise<Workers>
}
