import { setTimeout as sleep } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import { checkNames, checkNumbers, retryDelayMs, timerRange } from '@outlay/core/adapter'
import type { Attempt, Connection } from './connection.ts'
import { createAttemptError } from './errors.ts'
import { type HttpAnswer, readHeader } from './exchange.ts'
import { isOwnRefusal } from './proof.ts'
import { readRequestId } from './refusal.ts'
import type { Call } from './request.ts'
import { readRetryAfterMs } from './retry-after.ts'
import { parseJson } from './wire/json.ts'

/** How a client retries a request. Every attempt has the same idempotency key. */
export interface RetryOptions {
  /** Number of retries after the first attempt. Default 3; 0 disables retries. */
  readonly times?: number | undefined
  /** Upper bound of the first delay, in milliseconds. It doubles with every retry; the delay is random between 0 and it. Default 250. */
  readonly baseMs?: number | undefined
  /** Longest delay, in milliseconds. The client does not retry when the service asks for more; the error has that delay. Default 20 000. */
  readonly maxMs?: number | undefined
}

/** Waits for a number of milliseconds, or rejects when the signal aborts. */
export type Wait = (ms: number, signal?: AbortSignal) => Promise<void>

/** Makes the calls of the standalone client, with retries. */
export interface Requester {
  /**
   * Makes one call and returns the parsed body of its success.
   *
   * @throws OutlayError with the code of the refusal; `outcome_unknown` for a write that may have taken effect;
   *   `service_unavailable` for a read that got no answer; `unreadable_response`; `aborted`
   */
  perform(call: Call, signal?: AbortSignal): Promise<unknown>
  /** Like {@link Requester.request}, but `undefined` for a 404. */
  find(call: Call, signal?: AbortSignal): Promise<unknown>
}

const isSuccess = (attempt: Attempt): attempt is Attempt & { kind: 'answer' } =>
  attempt.kind === 'answer' && attempt.answer.status >= 200 && attempt.answer.status < 300

const isTransient = (attempt: Attempt): boolean => {
  if (attempt.kind === 'failure') return attempt.reason === 'timeout' || attempt.reason === 'connection'
  if (attempt.kind !== 'answer') return attempt.kind === 'unavailable'
  const { status } = attempt.answer
  // A 409 with Retry-After means that a first request with the same key is still in progress.
  return (
    status === 408 || status === 429 || status >= 500 || (status === 409 && retryAfter(attempt.answer) !== undefined)
  )
}

const retryAfter = (answer: HttpAnswer): string | undefined => readHeader(answer, 'retry-after')

/** True when the attempt may have taken effect without an answer that says so. */
function isOutcomeUnknown(attempt: Attempt): boolean {
  if (attempt.kind === 'failure') return attempt.sent
  if (attempt.kind !== 'answer') return false
  const { status } = attempt.answer
  return status < 200 || status === 408 || status >= 500 || (status >= 300 && status < 400)
}

const isPage = (attempt: Attempt, now: Date): boolean => attempt.kind === 'answer' && !isOwnRefusal(attempt.answer, now)

const wishMs = (attempt: Attempt, now: Date): number | undefined => {
  if (attempt.kind === 'answer') return readRetryAfterMs(retryAfter(attempt.answer), now)
  return attempt.kind === 'unavailable' ? attempt.retryAfterMs : undefined
}

const retryRanges = {
  times: { min: 0, max: 1_000, integer: true },
  baseMs: { ...timerRange, min: 0 },
  maxMs: { ...timerRange, min: 0 },
}

/** Makes the requester of a client. */
export function createRequester(connection: Connection, options: RetryOptions, wait: Wait = waitFor): Requester {
  checkNames(options, Object.keys(retryRanges), 'retries')
  checkNumbers({ ...options }, retryRanges, 'retries.')
  const { times = 3, baseMs = 250, maxMs = 20_000 } = options
  const waitMs = (attempt: Attempt, repetition: number): number => {
    const retryAfterMs = wishMs(attempt, connection.clock.now())
    const fraction = connection.random.fraction()
    return retryDelayMs({ attempt: repetition + 1, fraction, retryAfterMs, baseMs, capMs: maxMs })
  }

  const run = async (call: Call, signal: AbortSignal | undefined): Promise<HttpAnswer | OutlayError> => {
    let unknown = false
    for (let repetition = 0; ; repetition += 1) {
      const attempt = await connection.attempt(call, signal)
      if (isSuccess(attempt)) return attempt.answer
      unknown ||= call.method !== 'GET' && (isOutcomeUnknown(attempt) || attempt.mayHaveActed === true)
      const error = createAttemptError(call, attempt, connection.clock.now(), unknown)
      if (repetition >= times || !isTransient(attempt)) return error
      const ms = waitMs(attempt, repetition)
      if (ms > maxMs + baseMs) return error
      // What comes of the next request says nothing about this one, which somebody else may have answered.
      unknown ||= call.idempotencyKey !== undefined && isPage(attempt, connection.clock.now())
      try {
        await wait(ms, signal)
      } catch {
        return createAttemptError(call, abortedWhileWaiting, connection.clock.now(), unknown)
      }
    }
  }

  const perform = async (call: Call, signal?: AbortSignal): Promise<unknown> => {
    const result = await run(call, signal)
    if (OutlayError.is(result)) throw result
    return readSuccess(call, result)
  }
  return {
    perform,
    async find(call, signal) {
      const result = await run(call, signal)
      if (!OutlayError.is(result)) return readSuccess(call, result)
      if (result.code === 'not_found' && result.status === 404) return undefined
      throw result
    },
  }
}

const abortedWhileWaiting = {
  kind: 'failure',
  reason: 'aborted',
  sent: false,
  detail: 'aborted between two attempts',
} as const

const waitFor: Wait = async (ms, signal) => {
  await sleep(ms, undefined, signal === undefined ? {} : { signal })
}

const readSuccess = (call: Call, answer: HttpAnswer): unknown => {
  // The answer to a write may be empty, such as a 204.
  if (call.method !== 'GET' && answer.text === '') return undefined
  try {
    return parseJson(answer.text)
  } catch (error) {
    if (call.method === 'GET' || !OutlayError.is(error)) throw error
    const cause = { code: undefined, detail: error.message, idempotencyKey: call.idempotencyKey }
    const advice = call.idempotencyKey === undefined ? '' : ': retry with the same idempotency key'
    throw new OutlayError('outcome_unknown', `the service answered ${answer.status}, but ${error.message}${advice}`, {
      cause,
      status: answer.status,
      requestId: readRequestId(answer),
    })
  }
}
