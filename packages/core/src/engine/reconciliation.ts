/** What to compare with the service. */
export interface ReconcileOptions {
  /** Start of the comparison: no later than the moment to which the database was restored. ISO 8601, or a Date. */
  readonly since: string | Date
  /** Accounts beside those in the database: the rows of a new account may be lost entirely. Default: none. */
  readonly accounts?: readonly string[] | undefined
  /** Reports what would be done and changes nothing. Default false. */
  readonly dryRun?: boolean | undefined
  /**
   * Lifts the fence although differences stay open, unless a host has transfers locked. Blocked transfers stay blocked, and those
   * that have ended stay in doubt. Default false.
   */
  readonly acknowledge?: boolean | undefined
  /** Ids at the service by transfer id, where a person knows them. */
  readonly matches?: Readonly<Record<string, string>> | undefined
  /**
   * A person says that no two transfers of an account have the same note. Where a key may be forgotten, a row is then matched
   * with the only transfer of the service that is like it, note included. Default false: a person decides.
   */
  readonly uniqueNotes?: boolean | undefined
  /** Who reconciles. */
  readonly actor?: string | undefined
  /** Why, for the audit. */
  readonly reason?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * One difference between the database and the service.
 *
 * - `resent`: a transfer recorded as unsent may be at the service; it is sent again under its key, and the service answers with
 *   the transfer that the key created, or creates it
 * - `undecided`: the service has a transfer that a row may stand for; it gets that row when the key is answered, or its own row
 * - `identified`: a transfer recorded as unsent is at the service, as a person said, and now has its id
 * - `adopted`: the service has a transfer that no row stands for; it now has a row, as a transfer of others
 * - `automated`: an automation created it; nothing is to be done, unless its account is watched
 * - `blocked`: it may be at the service, and its key may be forgotten there; never sent until a person has decided
 * - `ended`: it has ended here behind the fence, so it is never sent, and may be at the service; neither it nor what it is like is
 *   dealt with before a person has decided
 * - `unknown_at_service`: a transfer has an id that the service does not know
 * - `unreadable`: the service's list, or a transfer in it, could not be read
 */
export interface Difference {
  readonly kind:
    | 'resent'
    | 'undecided'
    | 'identified'
    | 'adopted'
    | 'automated'
    | 'blocked'
    | 'ended'
    | 'unknown_at_service'
    | 'unreadable'
  readonly accountId: string
  /** The gateway whose list was compared. */
  readonly gateway: string
  /** Null when no row is concerned. */
  readonly transferId: string | null
  readonly remoteId: string | null
  /** One sentence. */
  readonly evidence: string
  /** True when it keeps the fence up. */
  readonly open: boolean
}

/** The result of a reconciliation. */
export interface Reconciliation {
  readonly differences: readonly Difference[]
  readonly accounts: number
  /** Transfers that were read at the service. */
  readonly read: number
  /** True when the fence no longer keeps transfers from being sent. */
  readonly lifted: boolean
  readonly dryRun: boolean
}
