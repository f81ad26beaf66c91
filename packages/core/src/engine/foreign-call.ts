import type { Logger, Runtime } from '../ports/runtime.ts'

/** How long a call that was told to end still may say what became of it, in milliseconds. */
export const graceMs = 1_000

/** What bounds a call into code that is not ours. */
export interface CallBounds {
  /** Name of the call, for the log. */
  readonly call: string
  /** After this the call's signal fires, in milliseconds. */
  readonly limitMs: number
  /** Fires the call's signal earlier. */
  readonly signal?: AbortSignal | undefined
}

/** A call was given up: nothing is known of what it did. */
export class CallGivenUp extends Error {
  override readonly name = 'CallGivenUp'
}

/** A call was not made, since its caller had ended before. */
export class CallNotMade extends Error {
  override readonly name = 'CallNotMade'
}

/**
 * Calls code of the host or of a gateway, and waits no longer than the limit and a second: code that hangs holds nothing up.
 * Its signal fires at the limit, so that code which listens can still say what it did. What it answers after it was given up is
 * ignored, but for a line in the log.
 *
 * @throws CallGivenUp, CallNotMade, or an Error for whatever the code threw, also before it returned a promise
 */
export function callForeign<T>(
  { timer, logger }: Pick<Runtime, 'timer' | 'logger'>,
  { call, limitMs, signal }: CallBounds,
  run: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  if (signal?.aborted === true) return Promise.reject(new CallNotMade(`${call} was not called: the caller had ended`))
  return new Promise((resolve, reject) => {
    const abort = new AbortController()
    let ended = false
    const end = (settle: () => void) => {
      if (ended) return logLate(logger, call)
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
    const onAbort = () => expire(`${call} was given up as its caller ended`, signal?.reason)
    const late = `${call} gave no answer within ${limitMs} ms`
    let cancel = timer.after(limitMs, () => expire(late, new CallGivenUp(late)))
    signal?.addEventListener('abort', onAbort, { once: true })
    settleCall(
      () => run(abort.signal),
      (value) => end(() => resolve(value)),
      (error) => end(() => reject(error)),
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

const logLate = (logger: Logger, call: string): void =>
  logger.debug({ call }, 'A call that was given up has ended after all; what it says is ignored.')

/** What was thrown as an Error whose message is text: a thrown value may be anything, and its members may throw in turn. */
function readError(thrown: unknown): Error {
  try {
    if (thrown instanceof Error && typeof thrown.message === 'string' && typeof thrown.name === 'string') return thrown
    return new Error(String(thrown))
  } catch {
    return new Error('something that cannot be read was thrown')
  }
}
