import type { Gateway, SendOptions, SubmitResult } from '../ports/gateway.ts'
import type { Runtime } from '../ports/runtime.ts'
import { callForeign, logLate } from './foreign-call.ts'
import { NotUnderstood } from './foreign-value.ts'
import { readFound, readListPage, readRegisterResult, readSubmitResult } from './gateway-answers.ts'
import type { TimeLimits } from './timeouts.ts'

/** How a transfer is submitted to a guarded gateway. */
export interface GuardedSendOptions extends SendOptions {
  /** Gets an acceptance that comes after the call was abandoned: money may move by it. Default: it is only logged. */
  readonly onLateAcceptance?: ((result: SubmitResult) => void) | undefined
}

/**
 * The same gateway, with guards: each call has a time limit, it throws only Errors, and its answers follow the port or are
 * `unknown`. A call that was not made says so.
 */
export function foreignGateway(
  gateway: Gateway,
  runtime: Pick<Runtime, 'timer' | 'logger'>,
  timeouts: TimeLimits,
): Gateway {
  const onNotUnderstood = reportOnce(runtime.logger)
  const bound = <T>(
    call: string,
    limitMs: number,
    signal: AbortSignal | undefined,
    run: (signal: AbortSignal) => T | PromiseLike<T>,
    onLate?: (value: T) => void,
  ) => callForeign(runtime, { call, limitMs, signal }, run, onLate)
  const { registerAddress, list } = gateway
  const { submitMs, readMs, lookupMs } = timeouts
  const known: Partial<Gateway> = {
    async submit(submission, { signal, mayBegin, onLateAcceptance }: GuardedSendOptions) {
      if (signal.aborted) return notSent
      const { transferId, attempt } = submission
      const read = (value: unknown) => readSubmitResult(value, onNotUnderstood('submit'))
      const receiveLate = (value: unknown) => {
        const result = read(value)
        if (result.outcome === 'accepted' && onLateAcceptance !== undefined) onLateAcceptance(result)
        else logLate(runtime.logger, { call: 'submit', transferId, attempt, outcome: result.outcome })
      }
      const send = (own: AbortSignal) => gateway.submit(submission, { signal: own, mayBegin })
      return read(await bound<unknown>('submit', submitMs, signal, send, receiveLate))
    },
    async get(accountId, remoteId, { signal, transferId }) {
      const found = await bound<unknown>('get', readMs, signal, (own) =>
        gateway.get(accountId, remoteId, { signal: own, transferId }),
      )
      return readFound(found, remoteId, onNotUnderstood('get'))
    },
  }
  if (registerAddress !== undefined) {
    known.registerAddress = async (registration, { signal, mayBegin }) => {
      if (signal.aborted) return notSent
      const register = (own: AbortSignal) => registerAddress.call(gateway, registration, { signal: own, mayBegin })
      const result = await bound<unknown>('registerAddress', submitMs, signal, register)
      return readRegisterResult(result, onNotUnderstood('registerAddress'))
    }
  }
  if (list !== undefined) {
    known.list = async (accountId, options) => {
      const read = (own: AbortSignal) => list.call(gateway, accountId, { ...options, signal: own })
      const page = await bound<unknown>('list', readMs, options.signal, read)
      try {
        return readListPage(page, onNotUnderstood('list'))
      } catch (error) {
        if (error instanceof NotUnderstood) onNotUnderstood('list')(error.field)
        throw error
      }
    }
  }
  // Any other member of a gateway has the time limit of a lookup.
  return new Proxy({} as Gateway, {
    get(_, name) {
      const own = known[name as keyof Gateway]
      if (own !== undefined) return own
      const member: unknown = Reflect.get(gateway, name, gateway)
      if (typeof member !== 'function') return member
      return (...args: readonly unknown[]) =>
        bound<unknown>(String(name), lookupMs, undefined, () => Reflect.apply(member, gateway, args))
    },
  })
}

/** Logs each kind of answer that is not understood once, without its content. */
function reportOnce(logger: Runtime['logger']) {
  const reported = new Set<string>()
  return (call: string) => (field: string) => {
    const kind = `${call} ${field}`
    if (reported.has(kind)) return
    reported.add(kind)
    const message =
      "A gateway's answer was not understood; an outcome or a time counts as unknown, an observation is left out."
    logger.error({ call, field }, message)
  }
}

const notSent = { outcome: 'throttled', detail: 'not sent: the engine stops' } as const
