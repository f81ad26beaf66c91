/** The outcome of an answer to a create; the same names as the outcomes of a gateway. */
export type AnswerOutcome =
  | 'accepted'
  | 'insufficient_balance'
  | 'key_mismatch'
  | 'rejected'
  | 'unauthorized'
  | 'throttled'
  | 'unknown'

/** An answer to a create, as far as it matters here. */
export interface Answer {
  /** HTTP status; `undefined` when no answer came. */
  readonly status?: number | undefined
  /** Error code of the answer. */
  readonly code?: string | undefined
  /** False when the body could not be read. Default true. */
  readonly readable?: boolean | undefined
}

const isRefusal = (status: number): boolean => status >= 400 && status < 500

const classifyRefusal = (status: number, code: string | undefined): AnswerOutcome => {
  if (code === 'insufficient_balance') return 'insufficient_balance'
  if (code === 'idempotency_key_mismatch') return 'key_mismatch'
  if (status === 409) return code === 'conflict' ? 'rejected' : 'throttled'
  // The first request may still succeed, whatever the status says of the second. An answer without a code may come from a
  // proxy.
  return code === undefined || code === 'idempotency_key_in_flight' ? 'unknown' : 'rejected'
}

/**
 * The outcome of an answer to a create. Specification: "Errors".
 *
 * Only an answer that says so means that nothing happened: an answer that is missing, broken or odd is `unknown`, since money
 * may have moved.
 */
export const classifyAnswer = ({ status, code, readable = true }: Answer): AnswerOutcome => {
  if (status === undefined) return 'unknown'
  if (status === 401 || status === 403) return 'unauthorized'
  if (status === 429) return 'throttled'
  if (!readable || status === 408 || status === 425) return 'unknown'
  if (status >= 200 && status < 300) return 'accepted'
  return isRefusal(status) ? classifyRefusal(status, code) : 'unknown'
}

/** The input of a pause. */
export interface RetryDelay {
  /** Attempts made so far, 1 after the first. */
  readonly attempt: number
  /** A random number in [0, 1). */
  readonly fraction: number
  /** How long the service asked to wait, in milliseconds; honoured up to an hour. */
  readonly retryAfterMs?: number | undefined
  /** Longest pause after the first attempt, in milliseconds. Default 1 000. */
  readonly baseMs?: number | undefined
  /** Longest pause after any attempt, in milliseconds. Default 300 000. */
  readonly capMs?: number | undefined
}

const longestRetryAfterMs = 3_600_000

/**
 * Delay until the next attempt, in milliseconds: exponential with full jitter. With `retryAfterMs`, never less than that, plus
 * a jitter of up to `baseMs`, so that clients with the same `retryAfterMs` do not return together.
 */
export const retryDelayMs = (options: RetryDelay): number => {
  const { attempt, fraction, retryAfterMs = 0, baseMs = 1000, capMs = 300_000 } = options
  const backoff = Math.floor(fraction * Math.min(capMs, baseMs * 2 ** Math.max(0, attempt - 1)))
  if (!(retryAfterMs > 0)) return backoff
  const asked = Math.ceil(Math.min(retryAfterMs, longestRetryAfterMs)) + Math.floor(fraction * baseMs)
  return Math.max(asked, backoff)
}

/** The input of the pause before a poll. */
export interface PollDelay {
  /** Usual time until a transfer is final on its slowest rail, in milliseconds. */
  readonly expectedMs: number
  /** Polls made so far, 0 before the first. */
  readonly polls: number
}

const minPollDelayMs = 1000
const maxPollDelayMs = 900_000

/**
 * Delay until the next poll of a status, in milliseconds. The first four polls come at quarters of the expected time. Then the
 * pause doubles up to 15 minutes, or stays at a quarter where that is longer. Never less than a second.
 */
export const pollDelayMs = ({ expectedMs, polls }: PollDelay): number => {
  const quarter = Math.max(minPollDelayMs, Math.round(expectedMs / 4))
  const doublings = Math.min(30, Math.max(0, polls - 3))
  return Math.min(quarter * 2 ** doublings, Math.max(quarter, maxPollDelayMs))
}

/** The input of the alignment of a poll. */
export interface PollAlignment {
  /** Milliseconds since the epoch. */
  readonly nowMs: number
  /** Delay until the poll without alignment, in milliseconds. */
  readonly delayMs: number
  /** Polls of transfers of one account are aligned; those of different accounts are not. */
  readonly accountId: string
}

/**
 * Delay until a poll that is aligned with others of its account, in milliseconds: never less than `delayMs`, and at most an
 * eighth more. Polls that are due together can be served by pages of a list.
 */
export const alignedPollDelayMs = ({ nowMs, delayMs, accountId }: PollAlignment): number => {
  if (!(delayMs >= 8)) return delayMs
  const grid = 2 ** Math.floor(Math.log2(delayMs / 8))
  let phase = 0
  for (let at = 0; at < accountId.length; at += 1) phase = (phase * 31 + accountId.charCodeAt(at)) % 0x7fff_ffff
  const due = nowMs + delayMs - (phase % grid)
  return delayMs + Math.ceil(due / grid) * grid - due
}

const shortestWatchMs = 15_000

/**
 * Delay until the next read for transfers that others created, in milliseconds: 15 seconds after one was found, then twice as
 * long after every read that found none or failed, up to 15 minutes.
 */
export const watchDelayMs = ({ idle }: { readonly idle: number }): number =>
  Math.min(maxPollDelayMs, shortestWatchMs * 2 ** Math.min(30, Math.max(0, idle)))
