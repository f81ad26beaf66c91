/** How much is where, right now. */
export interface Backlog {
  readonly queued: number
  readonly submitting: number
  readonly awaitingFunds: number
  readonly submitted: number
  readonly blocked: number
  /** Exact up to about 100,000 transfers; an estimate beyond, since counting all that ever was takes too long. */
  readonly settled: number
  /** Events that a subscription has yet to handle, dead letters not counted. */
  readonly undelivered: number
  readonly deadLetters: number
}

/** How long things have waited, right now. */
export interface Delays {
  /** How long the oldest transfer that is due has waited to be submitted, in milliseconds; 0 when there is none. */
  readonly unsubmittedMs: number
  readonly subscriptions: readonly {
    readonly name: string
    /** Events that it has yet to handle, dead letters not counted. */
    readonly undelivered: number
    readonly deadLetters: number
    /** How long ago the oldest of the undelivered ones happened, in milliseconds; 0 when there is none. */
    readonly lagMs: number
  }[]
}
