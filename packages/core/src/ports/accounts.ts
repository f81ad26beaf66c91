/** The limits of an account at the service and at the workers. */
export interface AccountLimits {
  /** Submissions per second, over all workers; null for no limit. */
  readonly ratePerSecond: number | null
  /** Submissions under way at once, over all workers; null for no limit. */
  readonly concurrency: number | null
  /** Share in the fair order of dispatch, relative to the 1 of every other account. */
  readonly weight: number
}

/** A change of an account's limits. An absent member stays as it is; null resets it. */
export type AccountLimitsChange = { readonly [K in keyof AccountLimits]?: AccountLimits[K] | null | undefined }

/** A pause of an account. */
export interface AccountPause {
  /** ISO 8601, UTC; null where code of an earlier release paused it. */
  readonly since: string | null
  readonly actor: string | null
  readonly reason: string | null
}

/** The state of an account in the engine. An account that was never configured has the defaults. */
export interface AccountState extends AccountLimits {
  readonly accountId: string
  readonly paused: boolean
  /** Since when, by whom and why; null where it is not paused. */
  readonly pause: AccountPause | null
  /** Submissions per second allowed since the service answered 429 or submissions began to hang; null when not throttled. */
  readonly throttledRatePerSecond: number | null
  /** When the pause of the throttle ends, ISO 8601, UTC; null when it has ended or there was none. */
  readonly throttledUntil: string | null
}
