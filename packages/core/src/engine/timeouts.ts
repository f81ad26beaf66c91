import { checkNumbers, timerRange } from '../number-option.ts'

/**
 * How long calls into the host's and the gateway's code may take, in milliseconds. At the limit the signal of a call fires; a
 * second later it is given up, and what it says after that is ignored.
 */
export interface EngineTimeouts {
  /**
   * One submission or registration, with everything that a gateway does for it: credentials, tokens, waiting for its turn. Beyond
   * it the outcome is what the gateway says at the signal, or else unknown. Default 60 000.
   */
  readonly submitMs?: number | undefined
  /** One read of a transfer, or of a page of a list. Default 30 000. */
  readonly readMs?: number | undefined
  /** One lookup: of the secrets of a webhook, and whatever else a gateway is asked. Default 10 000. */
  readonly lookupMs?: number | undefined
}

/** The limits, each with its value. */
export type TimeLimits = { readonly [K in keyof EngineTimeouts]-?: NonNullable<EngineTimeouts[K]> }

/**
 * The limits with their defaults.
 * @throws Error that names one which is no number of milliseconds
 */
export function readTimeouts(timeouts: EngineTimeouts = {}): TimeLimits {
  checkNumbers({ ...timeouts }, { submitMs: timerRange, readMs: timerRange, lookupMs: timerRange }, 'timeouts.')
  const { submitMs = 60_000, readMs = 30_000, lookupMs = 10_000 } = timeouts
  return { submitMs, readMs, lookupMs }
}
