import type { Observation } from './gateway.ts'
import type { FoundTransfer, ObserveRules } from './observations.ts'
import type { Adoption, OperatorNote, SendingState, StopTarget } from './safety.ts'
import type { StoredTransfer } from './stored-transfer.ts'

/** The result of a reconciliation for one transfer: its id at the service, or null when a person has to decide. */
export interface ReconciledTransfer {
  readonly id: string
  /** The attempt that the decision is based on. */
  readonly attempt: number
  readonly remoteId: string | null
  /** The reason, for the attempts log. */
  readonly evidence: string
}

/** A transfer that the service may have although its id there is not known here. */
export interface UnconfirmedTransfer extends StoredTransfer {
  /** How long ago its first request may have left, by the database's clock, in milliseconds. */
  readonly firstRequestAgeMs: number
  /** True when it must no longer be sent for the first time. */
  readonly isExpired: boolean
  /** True when it has ended here, though it may have been sent before a restore. It is never sent again. */
  readonly isEnded: boolean
}

/**
 * How an id at the service belongs to an account's transfer: a row that was enqueued has it, or one that was adopted, or only the log
 * of a row has it, which ended here or has another id.
 */
export type Standing = 'enqueued' | 'adopted' | 'logged'

/** The changes that a reconciliation writes for one account. */
export interface AccountReconciliation {
  readonly accountId: string
  readonly transfers: readonly ReconciledTransfer[]
  /** Transfers that are sent again under their keys, which are still alive. */
  readonly again: readonly (Omit<ReconciledTransfer, 'remoteId'> & {
    /** When a request with the key may have left before the row was written, ISO 8601; null when none did. */
    readonly since: string | null
  })[]
  /**
   * For every one of the account's transfers that the service may have, what its log says if it has ended here by now: the id
   * that a person gave for it, or null for a doubt.
   */
  readonly ended: readonly Omit<ReconciledTransfer, 'attempt'>[]
  /** Transfers of the service that no row stands for. */
  readonly lost: readonly FoundTransfer[]
  /** Transfers of the service that a row may stand for. Each is adopted once it is certain that no row does. */
  readonly undecided: readonly FoundTransfer[]
  readonly observations: readonly Observation[]
}

/**
 * The part of the backend that controls what may be sent. A reconciliation compares an account at one gateway, as `atGateway` writes it.
 */
export interface Operations<Tx> {
  /** The state as the transaction sees it if there is one; otherwise the committed one. Changes nothing. */
  state(tx?: Tx): Promise<SendingState>
  /** Stops new requests for the target from the commit on. False when it is already stopped. */
  addStop(tx: Tx, target: StopTarget, note: OperatorNote): Promise<boolean>
  /** Ends a stop, or only the one of a moment. False when there is none. */
  endStop(tx: Tx, target: StopTarget, since?: string): Promise<boolean>
  /** Adopts this database as the engine's own. */
  adoptDatabase(tx: Tx, adoption: Adoption): Promise<void>
  /** Stops all sending until a reconciliation. False when the database is already fenced. */
  fence(tx: Tx, note: OperatorNote): Promise<boolean>
  /** Puts up the fence of a restore that no worker has recorded yet. */
  recordRestore(): Promise<void>
  /** Accounts that have transfers or are watched, sorted. */
  accounts(): Promise<readonly string[]>
  /** Names of the gateways that workers have or had, and of those that transfers wait for. */
  gateways(): Promise<readonly string[]>
  /** Transfers of an account that the service may have although their ids there are not known here. */
  unconfirmed(accountId: string): Promise<readonly UnconfirmedTransfer[]>
  /** Ids at the service of the account's transfers that were enqueued since the given moment, by transfer id. */
  confirmedSince(
    accountId: string,
    since: string,
  ): Promise<readonly { readonly id: string; readonly remoteId: string }[]>
  /** Which of these ids at the service belong to a transfer of the account, and how. */
  known(accountId: string, remoteIds: readonly string[]): Promise<ReadonlyMap<string, Standing>>
  /** True when the account is watched. */
  isWatched(accountId: string): Promise<boolean>
  /**
   * Writes the result of a reconciliation for one account, and its entry in the audit, in a transaction of its own that waits for no other; returns the ids
   * of those that have ended here and are in doubt, some perhaps since they were read. Gives `undefined` when another one has a
   * transfer of the account locked: nothing is written then.
   * @throws OutlayError `conflict` when the database is not behind that fence any more; nothing is written then either
   */
  reconcile(
    fenceId: string | null,
    account: AccountReconciliation,
    rules: ObserveRules,
    note: OperatorNote,
  ): Promise<readonly string[] | undefined>
  /**
   * Records a reconciliation, in the audit too, and lifts the fence when `lift` is true.
   * @throws OutlayError `conflict` when the database is not behind that fence any more; it is not lifted then
   */
  endReconciliation(ended: {
    readonly since: string
    readonly note: OperatorNote
    readonly lift: boolean
    readonly differences: readonly unknown[]
    /** The fence behind which it compared. */
    readonly fenceId: string | null
  }): Promise<void>
}
