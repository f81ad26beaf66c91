/** How long data stays in the live tables. */
export interface Retention {
  /** Days after a transfer's end at which the running engine begins to archive its events and attempts, slowly. */
  readonly archiveAfterDays?: number | undefined
}

/** Options of the workers of one process. Every member has a default. */
export interface WorkOptions {
  /** Transfers that this process submits at once. Default 100. */
  readonly concurrency?: number | undefined
  /** Longest pause between two reads of an empty queue, in milliseconds. Default 200. */
  readonly pollIntervalMs?: number | undefined
  /**
   * Events being handled at once per subscription by this process; fewer, with a warning, where the pool has too few connections
   * for that and for sending. Default 4.
   */
  readonly subscriptionConcurrency?: number | undefined
  /** Transfers that this process screens at once, where the engine has a screener; one account has half of them at most. Default 16. */
  readonly screeningConcurrency?: number | undefined
  /**
   * Submissions and polls of an account that take longer than this are slow, in milliseconds: others need not wait for them. A
   * slow submission no longer counts against `concurrency`, up to four times as many, and an account with many is throttled; a
   * slow account is polled in a small share of its own, and one whose events are slow leaves a loop to others. Default 5 000.
   */
  readonly slowAfterMs?: number | undefined
  /** How long submissions may take to end when the engine stops, in milliseconds. Default 10 000. */
  readonly stopTimeoutMs?: number | undefined
  /** How old transfers are archived. Default: they are not; everything stays in the live tables. */
  readonly retention?: Retention | undefined
  /** Uses LISTEN for wake-ups; switch it off behind a pooler in transaction mode. Default true. */
  readonly listen?: boolean | undefined
}
