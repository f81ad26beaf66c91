import type { Environment } from '../transfer-type.ts'
import type { ValueTypeName } from '../value-type.ts'

/** The target of a stop: everything, one gateway by its name, or one account at all gateways. The only gateway of an engine is `default`. */
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
        /** True where the service was not asked for the id, or has another transfer there: for the audit. */
        readonly unchecked?: true | undefined
      }
    | {
        /** It is certain that nothing was paid and that nothing will be. */
        readonly notPaid: true
        readonly remoteId?: undefined
        readonly insteadOf?: undefined
        readonly unchecked?: undefined
      }
  )

/** What a person found out about a return that is held, with who and why. Exactly one of `amount` and `dismissed`. */
export type ReturnResolution = OperatorNote & {
  /** Which return, as `inspect().evidence` has it. Another report of the service replaces it by another one. */
  readonly identity: string
} & (
    | {
        /** How much came back: a decimal string greater than zero. */
        readonly amount: string
        /** That of the transfer. Needed only where the service has reported another one. */
        readonly currency?: ValueTypeName | undefined
        readonly dismissed?: undefined
      }
    | {
        /** Nothing came back, or handlers are not to get it. */
        readonly dismissed: true
        readonly amount?: undefined
        readonly currency?: undefined
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

/** What keeps a database from sending until a reconciliation. */
export interface Fence {
  /** Which fence it is: another one of the same database has another id. Null while no worker has recorded the restore. */
  readonly id: string | null
  /** ISO 8601, UTC. */
  readonly since: string
  readonly reason: string | null
  readonly actor: string | null
}

/** Whether anything may be sent from a database, and why not. */
export interface SendingState {
  /** Null when the workers know the database. */
  readonly unfamiliar: Unfamiliarity | null
  /** Null when no reconciliation is needed. Workers set the reasons `restored` and `rewound` when they detect them. */
  readonly fence: Fence | null
  readonly stops: readonly Stop[]
  /** The identity of the database that workers last recorded; null before any has started. */
  readonly knownDatabase: {
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
