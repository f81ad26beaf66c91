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
