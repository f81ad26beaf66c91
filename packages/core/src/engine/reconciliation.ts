/** What to compare with the service. */
export interface ReconcileOptions {
  /** From when on: no later than the moment to which the database was restored. ISO 8601, or a Date. */
  readonly since: string | Date
  /** Accounts beside those that the database knows: what was enqueued for a new one may be lost with it. Default: none. */
  readonly accounts?: readonly string[] | undefined
  /** Says what would be done and changes nothing. Default false. */
  readonly dryRun?: boolean | undefined
  /** Lifts the fence although differences stay open; transfers that are blocked stay so. Default false. */
  readonly acknowledge?: boolean | undefined
  /** Ids at the service by ids of transfers, where a person knows which is which. */
  readonly matches?: Readonly<Record<string, string>> | undefined
  /**
   * A person says that no two transfers of an account have the same note: where a key may be forgotten, the only transfer of the
   * service that is like a row, its note included, is then taken for it. Default false: a person decides.
   */
  readonly uniqueNotes?: boolean | undefined
  /** Who does it. */
  readonly actor?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * One difference between the database and the service.
 *
 * - `resent`: a transfer that was taken for unsent may be at the service; it is sent again under its key, and the service answers
 *   with what the key has made, or makes it
 * - `undecided`: the service has a transfer that a row may stand for; it gets that row when the key answers, or one of its own
 * - `identified`: a transfer that was taken for unsent is at the service, as a person said, and has its id now
 * - `adopted`: the service has a transfer that no row stands for; it has a row now, as a transfer of others
 * - `automated`: an automation made it; nothing is to be done, unless its account is watched
 * - `blocked`: it may be at the service, and its key may be forgotten there; never sent until a person has decided
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
    | 'unknown_at_service'
    | 'unreadable'
  readonly accountId: string
  /** Null where no row is concerned. */
  readonly transferId: string | null
  readonly remoteId: string | null
  /** One sentence. */
  readonly evidence: string
  /** True when it keeps the fence up. */
  readonly open: boolean
}

/** What a reconciliation came to. */
export interface Reconciliation {
  readonly differences: readonly Difference[]
  readonly accounts: number
  /** Transfers that were read at the service. */
  readonly read: number
  /** True when transfers may be sent again, as far as the fence goes. */
  readonly lifted: boolean
  readonly dryRun: boolean
}
