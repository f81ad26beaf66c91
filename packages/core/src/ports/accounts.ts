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

/** The state of an account in the engine. An account that was never configured has the defaults. */
export interface AccountState extends AccountLimits {
  readonly accountId: string
  readonly paused: boolean
  /** Submissions per second allowed since the service answered 429 or submissions began to hang; null when not throttled. */
  readonly throttledRatePerSecond: number | null
  /** When the pause of the throttle ends, ISO 8601, UTC; null when it has ended or there was none. */
  readonly throttledUntil: string | null
}

/** The lower rate of an account after the service answered 429. */
export interface Throttle {
  /** Submissions per second, over all workers. */
  readonly ratePerSecond: number
  /** Nothing is sent before this, ISO 8601. */
  readonly throttledUntil: string
  /** When the rate was last changed, ISO 8601. */
  readonly changedAt: string
}

/** The input of a throttle decision. */
export type ThrottleSignal =
  | {
      readonly kind: 'throttled'
      /** How long the service asked to wait, in milliseconds; 0 when it did not say. */
      readonly retryAfterMs: number
      /** Submissions of the account in the last second. */
      readonly submittedPerSecond: number
    }
  | {
      readonly kind: 'checked'
      /** True when the service answered something other than 429 since the last check. */
      readonly answered: boolean
      /** When a transfer last waited for the throttle or a limit, ISO 8601; null for never. */
      readonly waitedAt: string | null
    }

/** Decides the next throttle: the same object when nothing changes, null when the account is no longer throttled. Pure. */
export type DecideThrottle = (current: Throttle | null, signal: ThrottleSignal, now: Date) => Throttle | null
