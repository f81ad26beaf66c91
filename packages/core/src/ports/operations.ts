import type { Environment } from '../transfer-type.ts'
import type { Observation } from './gateway.ts'
import type { StoredTransfer } from './stored-transfer.ts'
import type { FoundTransfer, ObserveRules } from './work.ts'

/** The target of a stop: everything, one gateway by its name, or one account. An engine has one gateway, `default`. */
export type StopTarget =
  | { readonly scope: 'all' }
  | { readonly scope: 'gateway'; readonly name: string }
  | { readonly scope: 'account'; readonly name: string }

/** Who acts and why, for later readers. */
export interface OperatorNote {
  readonly reason?: string | undefined
  readonly actor?: string | undefined
}

/** What a person found out about a blocked transfer, with who and why. Exactly one of `remoteId` and `notPaid`. */
export type Resolution = OperatorNote &
  (
    | {
        /** The service has the transfer under this id: 1 to 255 characters without control characters. */
        readonly remoteId: string
        readonly notPaid?: undefined
        /** The account's transfer that has that id now and loses it: it becomes blocked, or stays as it ended. */
        readonly insteadOf?: string | undefined
      }
    | {
        /** It is certain that nothing was paid and that nothing will be. */
        readonly notPaid: true
        readonly remoteId?: undefined
        readonly insteadOf?: undefined
      }
  )

/** A committed stop. */
export interface Stop {
  readonly scope: StopTarget['scope']
  /** Name of the gateway or id of the account; null for everything. */
  readonly name: string | null
  /** ISO 8601, UTC. */
  readonly since: string
  readonly reason: string | null
  readonly actor: string | null
}

/**
 * Why a database is not the one that the workers know.
 *
 * - `other_server`: it came here by a dump, a replication or a new cluster
 * - `other_database`: it is another database of the same server, such as a copy by template
 * - `other_deployment`: it belongs to a deployment of another name, so this process or this database is a copy
 */
export type Unfamiliarity = 'other_server' | 'other_database' | 'other_deployment'

/** Whether anything may be sent from a database, and why not. */
export interface SendingState {
  /** Null when the workers know the database. */
  readonly unfamiliar: Unfamiliarity | null
  /** Null when no reconciliation is needed. Workers set the reasons `restored` and `rewound` when they detect them. */
  readonly fence: { readonly since: string; readonly reason: string | null; readonly actor: string | null } | null
  readonly stops: readonly Stop[]
  /** The identity of the database that workers last recorded; null before any has started. */
  readonly home: {
    readonly database: string
    readonly systemIdentifier: string | null
    readonly timeline: number
    readonly deployment: string | null
    readonly environment: Environment | null
    /** ISO 8601, UTC. */
    readonly seenAt: string
  } | null
}

/** How a database is adopted as the engine's own. */
export interface Adoption extends OperatorNote {
  /** The new name of its deployment. Default: the current one. */
  readonly deployment?: string | undefined
  /** True when it was moved whole, with its workers stopped, so that the service cannot be ahead of it. Default false. */
  readonly moved?: boolean | undefined
}

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
}

/** The changes that a reconciliation writes for one account. */
export interface AccountReconciliation {
  readonly accountId: string
  readonly transfers: readonly ReconciledTransfer[]
  /** Transfers that are sent again under their keys, which are still alive. */
  readonly again: readonly (Omit<ReconciledTransfer, 'remoteId'> & {
    /** When a request with the key may have left before the row was written, ISO 8601; null when none did. */
    readonly since: string | null
  })[]
  /** Transfers of the service that no row stands for. */
  readonly lost: readonly FoundTransfer[]
  /** Transfers of the service that a row may stand for. Each is adopted once it is certain that no row does. */
  readonly undecided: readonly FoundTransfer[]
  readonly observations: readonly Observation[]
}

/** The part of the backend that controls what may be sent. */
export interface Operations<Tx> {
  /** The committed state. Changes nothing. */
  state(): Promise<SendingState>
  /** Stops new requests for the target from the commit on. False when it is already stopped. */
  addStop(tx: Tx, target: StopTarget, note: OperatorNote): Promise<boolean>
  /** Ends a stop. False when there is none. */
  endStop(tx: Tx, target: StopTarget): Promise<boolean>
  /** Adopts this database as the engine's own. */
  adoptDatabase(tx: Tx, adoption: Adoption): Promise<void>
  /** Stops all sending until a reconciliation. False when the database is already fenced. */
  fence(tx: Tx, note: OperatorNote): Promise<boolean>
  /** Accounts that have transfers or are watched, sorted. */
  accounts(): Promise<readonly string[]>
  /** Transfers of an account that the service may have although their ids there are not known here. */
  unconfirmed(accountId: string): Promise<readonly UnconfirmedTransfer[]>
  /** Ids at the service of the account's transfers that were enqueued since the given moment, by transfer id. */
  confirmedSince(
    accountId: string,
    since: string,
  ): Promise<readonly { readonly id: string; readonly remoteId: string }[]>
  /** Which of these ids at the service belong to a transfer of the account, and whether that transfer was adopted. */
  known(accountId: string, remoteIds: readonly string[]): Promise<ReadonlyMap<string, { readonly isAdopted: boolean }>>
  /** True when the account is watched. */
  isWatched(accountId: string): Promise<boolean>
  /** Writes the result of a reconciliation for one account, in its own transaction; returns how many rows changed. */
  reconcile(account: AccountReconciliation, rules: ObserveRules, actor: string | undefined): Promise<number>
  /** Records a reconciliation, and lifts the fence when `lift` is true. */
  endReconciliation(ended: {
    readonly since: string
    readonly actor: string | undefined
    readonly lift: boolean
    readonly differences: readonly unknown[]
  }): Promise<void>
}
