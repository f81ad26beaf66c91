/** Counts of transfers and events, at this moment. */
export interface Backlog {
  /** What a person has to approve or release. */
  readonly held: number
  readonly queued: number
  readonly submitting: number
  readonly awaitingFunds: number
  readonly submitted: number
  readonly blocked: number
  /** Exact up to about 100,000 transfers; an estimate beyond, since an exact count would take too long. */
  readonly settled: number
  /** Events not yet delivered to a subscription, without dead letters. */
  readonly undelivered: number
  readonly deadLetters: number
}

/** How long transfers and events have waited, at this moment. */
export interface Delays {
  /** How long the oldest transfer that is due has waited to be submitted, in milliseconds; 0 when there is none. */
  readonly unsubmittedMs: number
  readonly subscriptions: readonly {
    readonly name: string
    /** Events not yet delivered to it, without dead letters. */
    readonly undelivered: number
    readonly deadLetters: number
    /** Age of its oldest undelivered event, in milliseconds; 0 when there is none. */
    readonly lagMs: number
  }[]
}

/** Counts what waits. */
export interface BacklogPort {
  backlog(): Promise<Backlog>
  delays(): Promise<Delays>
}
