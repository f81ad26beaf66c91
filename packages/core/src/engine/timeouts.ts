import { checkNumbers, timerRange } from '../number-option.ts'
import { checkNames } from '../option-names.ts'

/**
 * Time limits for calls into the host's and the gateway's code, in milliseconds. At the limit the signal of a call fires. A
 * second later the engine abandons the call. Of what such a call still returns, only the acceptance of a transfer counts.
 */
export interface EngineTimeouts {
  /**
   * One submission or registration, with everything that a gateway does for it: credentials, tokens, its own queue. Beyond the
   * limit the outcome is what the gateway returns at the signal, or else unknown. Default 60 000.
   */
  readonly submitMs?: number | undefined
  /** One read of a transfer, or of a page of a list. Default 30 000. */
  readonly readMs?: number | undefined
  /** One lookup: the secrets of a webhook, and any other call of a gateway. Default 10 000. */
  readonly lookupMs?: number | undefined
  /** One call of the screener. Default 10 000. */
  readonly screenMs?: number | undefined
}

/** All time limits, each with a value. */
export type TimeLimits = { readonly [K in keyof EngineTimeouts]-?: NonNullable<EngineTimeouts[K]> }

/**
 * The time limits with their defaults.
 * @throws Error that names one which is no number of milliseconds
 */
export function readTimeouts(timeouts: EngineTimeouts = {}): TimeLimits {
  const ranges = { submitMs: timerRange, readMs: timerRange, lookupMs: timerRange, screenMs: timerRange }
  checkNames(timeouts, Object.keys(ranges), 'timeouts')
  checkNumbers({ ...timeouts }, ranges, 'timeouts.')
  const { submitMs = 60_000, readMs = 30_000, lookupMs = 10_000, screenMs = 10_000 } = timeouts
  return { submitMs, readMs, lookupMs, screenMs }
}
