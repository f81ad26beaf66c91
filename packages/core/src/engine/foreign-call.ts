import type { Logger, Runtime } from '../ports/runtime.ts'

/** How long a call may still return its result after its signal fired, in milliseconds. */
export const graceMs = 1_000

/** The bounds of a call into foreign code. */
export interface CallBounds {
  /** Name of the call, for the log. */
  readonly call: string
  /** After this the call's signal fires, in milliseconds. */
  readonly limitMs: number
  /** Fires the call's signal earlier. */
  readonly signal?: AbortSignal | undefined
}

/** The call was abandoned: its effect is unknown. */
export class CallGivenUp extends Error {
  override readonly name = 'CallGivenUp'
}

/** The call was not made: its caller had already ended. */
export class CallNotMade extends Error {
  override readonly name = 'CallNotMade'
}

/**
 * Calls code of the host or of a gateway, and waits at most the limit and a second: code that hangs blocks nothing. Its signal
 * fires at the limit, so that the code can still return its result. A result after that goes to `onLate`; by default it is ignored,
 * with a line in the log.
 *
 * @throws CallGivenUp, CallNotMade, or an Error for whatever the code threw, also before it returned a promise
 */
export function callForeign<T>(
  { timer, logger }: Pick<Runtime, 'timer' | 'logger'>,
  { call, limitMs, signal }: CallBounds,
  run: (signal: AbortSignal) => T | PromiseLike<T>,
  onLate: (value: T) => void = () => logLate(logger, { call }),
): Promise<T> {
  if (signal?.aborted === true) return Promise.reject(new CallNotMade(`${call} was not called: the caller had ended`))
  return new Promise((resolve, reject) => {
    const abort = new AbortController()
    let ended = false
    const end = (settle: () => void) => {
      ended = true
      cancel()
      signal?.removeEventListener('abort', onAbort)
      settle()
    }
    const expire = (why: string, reason: unknown) => {
      cancel()
      cancel = timer.after(graceMs, () => end(() => reject(new CallGivenUp(why))))
      abort.abort(reason)
    }
    const receiveLate = (value: T) => {
      try {
        onLate(value)
      } catch {
        logLate(logger, { call })
      }
    }
    const onAbort = () => expire(`${call} was abandoned because its caller ended`, signal?.reason)
    const late = `${call} gave no answer within ${limitMs} ms`
    let cancel = timer.after(limitMs, () => expire(late, new CallGivenUp(late)))
    signal?.addEventListener('abort', onAbort, { once: true })
    settleCall(
      () => run(abort.signal),
      (value) => (ended ? receiveLate(value) : end(() => resolve(value))),
      (error) => (ended ? logLate(logger, { call }) : end(() => reject(error))),
    )
  })
}

function settleCall<T>(
  run: () => T | PromiseLike<T>,
  onValue: (value: T) => void,
  onError: (error: Error) => void,
): void {
  const fail = (error: unknown) => onError(readError(error))
  try {
    Promise.resolve(run()).then(onValue, fail)
  } catch (error) {
    fail(error)
  }
}

/** Logs that a result came too late to count. */
export const logLate = (logger: Logger, fields: Readonly<Record<string, unknown>>): void =>
  logger.info(fields, 'An abandoned call has ended after all; its result is ignored.')

/** The thrown value as an Error whose message is text. A thrown value may be anything, and its members may throw in turn. */
function readError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string' && typeof thrown.name === 'string') return thrown
    return new Error(String(thrown))
  } catch {
    return new Error('something that cannot be read was thrown')
  }
}
