import type { Environment } from '../transfer-type.ts'
import type { Observation } from './gateway.ts'
import type { StoredTransfer } from './stored-transfer.ts'
import type { FoundTransfer, ObserveRules } from './work.ts'

/** What a stop is about: everything, one gateway by its name, or one account. An engine has one gateway, `default`. */
export type StopTarget =
  | { readonly scope: 'all' }
  | { readonly scope: 'gateway'; readonly name: string }
  | { readonly scope: 'account'; readonly name: string }

/** Who does something, and why: for whoever reads it later. */
export interface OperatorNote {
  readonly reason?: string | undefined
  readonly actor?: string | undefined
}

/** What a person has found out about a blocked transfer, and who and why: one of the two, not both. */
export type Resolution = OperatorNote &
  (
    | {
        /** The service has it, under this id: 1 to 255 characters without control characters. */
        readonly remoteId: string
        readonly notPaid?: undefined
        /** Id of the account's transfer that has that id and is to lose it: it is blocked, or stays as it ended. */
        readonly insteadOf?: string | undefined
      }
    | {
        /** It is certain that nothing was paid, and that nothing will be. */
        readonly notPaid: true
        readonly remoteId?: undefined
        readonly insteadOf?: undefined
      }
  )

/** A stop as it is committed. */
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
  /** Null when the database is at home. */
  readonly unfamiliar: Unfamiliarity | null
  /** Null when nothing has to be reconciled with the service. `restored` and `rewound` are what a worker found out. */
  readonly fence: { readonly since: string; readonly reason: string | null; readonly actor: string | null } | null
  readonly stops: readonly Stop[]
  /** What workers have last recognized; null before any has started. */
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

/** How a database is made the engine's own. */
export interface Adoption extends OperatorNote {
  /** Name of its deployment from now on. Default: the one that it has. */
  readonly deployment?: string | undefined
  /** True when it was moved whole, with its workers stopped, so that the service cannot be ahead of it. Default false. */
  readonly moved?: boolean | undefined
}

/** What a reconciliation gives a transfer: the id that it has at the service, or null for a person to decide. */
export interface ReconciledTransfer {
  readonly id: string
  /** The attempt that it was judged with. */
  readonly attempt: number
  readonly remoteId: string | null
  /** Why, for the attempts log. */
  readonly evidence: string
}

/** A transfer that the service may have although no id of it is known here. */
export interface UnconfirmedTransfer extends StoredTransfer {
  /** How long ago a request of it may have left for the first time, by the database's clock, in milliseconds. */
  readonly firstRequestAgeMs: number
  /** True when it must not be sent for the first time any more. */
  readonly isExpired: boolean
}

/** What a reconciliation writes of one account. */
export interface AccountReconciliation {
  readonly accountId: string
  readonly transfers: readonly ReconciledTransfer[]
  /** Transfers that are sent again under their keys, which live. */
  readonly again: readonly (Omit<ReconciledTransfer, 'remoteId'> & {
    /** When a request with the key may have left although the row is younger, ISO 8601; null where none did. */
    readonly since: string | null
  })[]
  /** Transfers of the service that no row stands for. */
  readonly lost: readonly FoundTransfer[]
  /** Transfers of the service that a row may stand for; each is adopted once it is certain that none does. */
  readonly undecided: readonly FoundTransfer[]
  readonly observations: readonly Observation[]
}

/** The part of the database side that says what may be sent. */
export interface Operations<Tx> {
  /** How it stands, as it is committed. Changes nothing. */
  state(): Promise<SendingState>
  /** Begins no request for the target from the commit on. False when it is stopped already. */
  addStop(tx: Tx, target: StopTarget, note: OperatorNote): Promise<boolean>
  /** Ends a stop. False when there is none. */
  endStop(tx: Tx, target: StopTarget): Promise<boolean>
  /** Makes the database that this is the engine's own. */
  adoptDatabase(tx: Tx, adoption: Adoption): Promise<void>
  /** Sends nothing until a reconciliation. False when it is fenced already. */
  fence(tx: Tx, note: OperatorNote): Promise<boolean>
  /** Accounts with transfers, or that are watched, in order. */
  accounts(): Promise<readonly string[]>
  /** Transfers of an account that the service may have although no id of it is known here. */
  unconfirmed(accountId: string): Promise<readonly UnconfirmedTransfer[]>
  /** Ids at the service that transfers of an account have which were enqueued since, by the id of the transfer. */
  confirmedSince(
    accountId: string,
    since: string,
  ): Promise<readonly { readonly id: string; readonly remoteId: string }[]>
  /** Those of these ids at the service that a transfer of the account has, and whether that one was adopted. */
  known(accountId: string, remoteIds: readonly string[]): Promise<ReadonlyMap<string, { readonly isAdopted: boolean }>>
  /** True when the account's transfers of others are adopted. */
  isWatched(accountId: string): Promise<boolean>
  /** Writes what a reconciliation found about one account, in a transaction of its own; answers how many rows changed. */
  reconcile(account: AccountReconciliation, rules: ObserveRules, actor: string | undefined): Promise<number>
  /** Writes a reconciliation down, and lifts the fence when it says so. */
  endReconciliation(ended: {
    readonly since: string
    readonly actor: string | undefined
    readonly lift: boolean
    readonly differences: readonly unknown[]
  }): Promise<void>
}
