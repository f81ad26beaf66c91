/** Selects the transfers whose events and attempts are archived next. */
export interface ArchiveStep {
  /** Only transfers that ended at least this long ago, in milliseconds. */
  readonly olderThanMs: number
  /** Only transfers with a greater id; empty for the first step. */
  readonly after: string
  /** Most transfers to check in this step. */
  readonly limit: number
  /** Changes nothing and returns the result of a real run, as if no foreign key of the host referred to a history. */
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
  /** Transfers that are old enough but whose events or attempts a foreign key of the host refers to. A dry run counts them as archived. */
  readonly referenced: number
  /** The last transfer checked: the next step starts after it. Null when none is left. */
  readonly last: string | null
}

/** Moves old events and attempts out of the live tables. */
export interface ArchivePort {
  /**
   * Archives the events and attempts of some transfers that ended long ago, in its own transaction. The transfers stay, so
   * their keys stay in use. Safe from several processes at once.
   */
  archive(step: ArchiveStep): Promise<ArchivedStep>
}
