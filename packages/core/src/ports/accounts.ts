/** What an account may take of the service and of the workers. */
export interface AccountLimits {
  /** Submissions per second, over all workers; null for no limit. */
  readonly ratePerSecond: number | null
  /** Submissions under way at once, over all workers; null for no limit. */
  readonly concurrency: number | null
  /** Share in the fair order of dispatch, relative to the 1 of every other account. */
  readonly weight: number
}

/** A change of an account's limits: what is absent stays as it is, null resets. */
export type AccountLimitsChange = { readonly [K in keyof AccountLimits]?: AccountLimits[K] | null | undefined }

/** How an account stands with the engine. One that nothing was ever said about has the defaults. */
export interface AccountState extends AccountLimits {
  readonly accountId: string
  readonly paused: boolean
  /** Submissions per second that are left to it since the service said 429 or its submissions hang; null when it is not slowed down. */
  readonly loweredRatePerSecond: number | null
  /** Until when it waits for that, ISO 8601, UTC; null when that is over or never was. */
  readonly heldUntil: string | null
}

/** How far an account is slowed down after the service said 429. */
export interface Pace {
  /** Submissions per second, over all workers. */
  readonly ratePerSecond: number
  /** Nothing is sent before this, ISO 8601. */
  readonly heldUntil: string
  /** When the rate was last changed, ISO 8601. */
  readonly changedAt: string
}

/** What a decision about a pace is made on. */
export type PaceNews =
  | {
      readonly kind: 'throttled'
      /** How long the service asked to wait, in milliseconds; 0 when it did not say. */
      readonly retryAfterMs: number
      /** What the account sent in the last second. */
      readonly submittedPerSecond: number
    }
  | {
      readonly kind: 'looked'
      /** True when the service answered something other than 429 since the last look. */
      readonly answered: boolean
      /** When a transfer last had to wait for the pace or a limit, ISO 8601; null for never. */
      readonly waitedAt: string | null
    }

/** Decides the pace that follows: the same object when nothing changes, null when the account is not slowed down. Pure. */
export type DecidePace = (current: Pace | null, news: PaceNews, now: Date) => Pace | null
