import { describe, expect, it } from 'vitest'
import { CallGivenUp, CallNotMade, callForeign, graceMs } from './foreign-call.ts'

/** Timers that a test fires, by their time. */
function manualTimer() {
  const waiting: { readonly ms: number; readonly run: () => void }[] = []
  const lines: unknown[] = []
  const runtime = {
    timer: {
      after(ms: number, run: () => void) {
        const one = { ms, run }
        waiting.push(one)
        return () => void waiting.splice(waiting.indexOf(one) >>> 0, 1)
      },
    },
    logger: { debug() {}, info: (...line: unknown[]) => void lines.push(line), warn() {}, error() {} },
  }
  const fire = (ms: number) => {
    const [one] = waiting.filter((timer) => timer.ms === ms)
    if (one === undefined) throw new Error(`Nobody waits for ${ms} ms.`)
    waiting.splice(waiting.indexOf(one), 1)
    one.run()
  }
  return { runtime, waiting, lines, fire }
}

const bounds = { call: 'submit', limitMs: 60_000 }
const nothing = Promise.withResolvers<string>()

describe('a call into foreign code', () => {
  it('returns the result of the code, and leaves no timer behind', async () => {
    const { runtime, waiting } = manualTimer()
    expect(await callForeign(runtime, bounds, async () => 'yes')).toBe('yes')
    expect(await callForeign(runtime, bounds, () => 'at once')).toBe('at once')
    expect(waiting).toEqual([])
  })

  it('rejects with what the code throws, also before there is a promise', async () => {
    const { runtime, waiting } = manualTimer()
    const fail = (thrown: unknown) =>
      callForeign(runtime, bounds, () => {
        throw thrown
      })
    await expect(fail(new TypeError('at once'))).rejects.toThrow(new TypeError('at once'))
    await expect(fail('text')).rejects.toThrow(new Error('text'))
    const unreadable = {
      toString() {
        throw new Error('no')
      },
    }
    await expect(fail(unreadable)).rejects.toThrow('cannot be read')
    await expect(callForeign(runtime, bounds, () => Promise.reject(Symbol('odd')))).rejects.toBeInstanceOf(Error)
    expect(waiting).toEqual([])
  })

  it('fires the signal at the limit, and accepts the result that the code still returns', async () => {
    const { runtime, fire } = manualTimer()
    const answer = callForeign(
      runtime,
      bounds,
      (signal) => new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('not sent'))),
    )
    fire(60_000)
    expect(await answer).toBe('not sent')
  })

  it('is abandoned a second after the limit, and a later result is only logged', async () => {
    const { runtime, waiting, fire, lines } = manualTimer()
    const late = Promise.withResolvers<string>()
    const answer = callForeign(runtime, bounds, () => late.promise)
    fire(60_000)
    fire(graceMs)
    await expect(answer).rejects.toThrow(new CallGivenUp('submit gave no answer within 60000 ms'))
    expect([waiting, lines]).toEqual([[], []])
    late.resolve('too late')
    await late.promise
    await Promise.resolve()
    expect(lines).toEqual([[{ call: 'submit' }, expect.stringContaining('ignored')]])
  })

  it('gives a result that comes after that to who wants it, and survives what that throws', async () => {
    const { runtime, fire, lines } = manualTimer()
    const late = Promise.withResolvers<string>()
    const received: string[] = []
    const answer = callForeign(
      runtime,
      bounds,
      () => late.promise,
      (value) => {
        received.push(value)
        throw new Error('no')
      },
    )
    fire(60_000)
    fire(graceMs)
    await expect(answer).rejects.toBeInstanceOf(CallGivenUp)
    late.resolve('too late')
    await late.promise
    await Promise.resolve()
    expect(received).toEqual(['too late'])
    expect(lines).toEqual([[{ call: 'submit' }, expect.stringContaining('ignored')]])
  })

  it('is abandoned a second after its caller has ended, and is not made after that', async () => {
    const { runtime, fire } = manualTimer()
    const caller = new AbortController()
    const given: AbortSignal[] = []
    const call = () =>
      callForeign(runtime, { ...bounds, signal: caller.signal }, (signal) => {
        given.push(signal)
        return nothing.promise
      })
    const answer = call()
    caller.abort(new Error('The engine stops.'))
    expect(given.map(({ reason }) => reason)).toEqual([new Error('The engine stops.')])
    fire(graceMs)
    await expect(answer).rejects.toBeInstanceOf(CallGivenUp)
    await expect(call()).rejects.toBeInstanceOf(CallNotMade)
    expect(given).toHaveLength(1)
  })
})
