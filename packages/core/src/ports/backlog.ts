/** Counts of transfers and events, at this moment. A closed batch whose completion is not recorded yet is in none of them. */
export interface Backlog {
  /** What a person has to approve or release. */
  readonly held: number
  readonly queued: number
  readonly submitting: number
  readonly awaitingFunds: number
  readonly submitted: number
  readonly blocked: number
  /** Exact up to about 20,000 transfers; an estimate beyond, since an exact count would take too long. */
  readonly settled: number
  /** Events not yet delivered to a subscription, without dead letters. */
  readonly undelivered: number
  readonly deadLetters: number
}

/** How far one subscription is behind, at this moment. */
export interface SubscriptionDelay {
  readonly name: string
  /** Events not yet delivered to it, without dead letters. */
  readonly undelivered: number
  readonly deadLetters: number
  /** Age of its oldest undelivered event, in milliseconds; 0 when there is none. */
  readonly lagMs: number
}

/** Counts what waits. Each read is one of its own: none waits for another. */
export interface BacklogPort {
  /** Reads all transfers that are not settled, which may take long. */
  backlog(): Promise<Backlog>
  /** How long the oldest transfer that is due has waited to be submitted, in milliseconds; 0 when there is none. */
  unsubmittedMs(): Promise<number>
  /** Every subscription, by name. */
  subscriptionDelays(): Promise<readonly SubscriptionDelay[]>
}
