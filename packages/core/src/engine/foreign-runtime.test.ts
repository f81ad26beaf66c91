import { describe, expect, it } from 'vitest'
import type { Runtime } from '../ports/runtime.ts'
import type { Telemetry } from '../ports/telemetry.ts'
import { foreignRuntime, foreignTelemetry } from './foreign-runtime.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const own: Runtime = {
  clock: { now: () => new Date(0) },
  random: { bytes: (length) => new Uint8Array(length), fraction: () => 0.25 },
  timer: { after: () => () => undefined },
  logger: silent,
}
const fail = (): never => {
  throw new Error('broken')
}

describe('the runtime of a host', () => {
  it('is used when it is given and works', () => {
    const clock = { now: () => new Date(5) }
    const runtime = foreignRuntime(own, {
      clock,
      random: { ...own.random, fraction: () => 0.5 },
      logger: undefined as never,
    })
    expect([runtime.clock.now(), runtime.random.fraction()]).toEqual([new Date(5), 0.5])
    runtime.logger.error({}, 'nobody minds')
  })

  it('is used when its members are those of a class', () => {
    const lines: string[] = []
    class HostRuntime {
      get clock() {
        return { now: () => new Date(5) }
      }
      get logger() {
        return { ...silent, error: (_: object, message: string) => void lines.push(message) }
      }
    }
    const runtime = foreignRuntime(own, new HostRuntime())
    runtime.logger.error({}, 'somebody reads this')
    expect([runtime.clock.now(), lines]).toEqual([new Date(5), ['somebody reads this']])
  })

  it('is replaced by the backend when it shows no time or no fraction', () => {
    for (const now of [fail, () => new Date(Number.NaN), () => '2026' as unknown as Date]) {
      expect(foreignRuntime(own, { clock: { now } }).clock.now()).toEqual(new Date(0))
    }
    for (const fraction of [fail, () => Number.NaN, () => 1, () => -1]) {
      expect(foreignRuntime(own, { random: { ...own.random, fraction } }).random.fraction()).toBe(0.25)
    }
  })

  it.each<[string, object]>([
    ['runtime.loger: is no option', { loger: silent }],
    ['runtime: must be an object of options', silent.info],
    ['runtime.logger: must have the methods debug, info, warn, error', { logger: {} }],
    ['runtime.logger: must have the methods', { logger: { ...silent, error: undefined } }],
    ['runtime.logger: must have the methods', { logger: silent.info }],
    ['runtime.logger: must have the methods', { logger: null }],
  ])('is refused where it would say nothing: %s', (message, given) => {
    expect(() => foreignRuntime(own, given)).toThrow(message)
  })

  it('may have a logger that throws or rejects', async () => {
    const rejects = (() => Promise.reject(new Error('full disk'))) as unknown as () => void
    const { logger } = foreignRuntime(own, { logger: { debug: fail, info: fail, warn: rejects, error: fail } })
    logger.debug({}, '')
    logger.warn({}, '')
    logger.error({}, '')
    await new Promise((resolve) => queueMicrotask(() => resolve(undefined)))
  })
})

describe('telemetry that', () => {
  const none: Telemetry = { span: fail, current: fail, count: fail, record: fail, gauges: fail }
  const spans: Readonly<Record<string, Telemetry['span']>> = {
    throws: fail,
    rejects: () => Promise.reject(new Error('broken')),
    hangs: () => new Promise(() => undefined),
    'hangs after the work': async (_name, _options, work) => {
      await work({ traceparent: 'a', rename: fail, set: fail, fail, measure: fail })
      return new Promise(() => undefined)
    },
    'does the work twice': async (_name, _options, work) => {
      const span = { traceparent: undefined, rename() {}, set() {}, fail() {}, measure() {} }
      return [await work(span), await work(span)][1] as never
    },
    'does the work later': async (_name, _options, work) => {
      await Promise.resolve()
      return work({ traceparent: undefined, rename() {}, set() {}, fail() {}, measure() {} })
    },
  }
  for (const [name, span] of Object.entries(spans)) {
    it(`${name} leaves the work as it is, done once`, async () => {
      const telemetry = foreignTelemetry({ ...none, span })
      let done = 0
      const work = telemetry.span('outlay submit', { kind: 'consumer' }, async (own) => {
        done += 1
        own.set({ a: 1 })
        own.fail('b')
        own.rename('c')
        return 'answer'
      })
      expect([await work, done]).toEqual(['answer', 1])
      const failing = telemetry.span('outlay submit', { kind: 'consumer' }, async () =>
        Promise.reject(new Error('mine')),
      )
      await expect(failing).rejects.toThrow('mine')
    })
  }

  it('throws for everything is as good as none', () => {
    const telemetry = foreignTelemetry(none)
    const instrument = { name: 'a', unit: 's', description: 'A.' }
    telemetry.count(instrument, 1, {})
    telemetry.record(instrument, 1, {})
    telemetry.gauges([instrument], async () => [])()
    expect(telemetry.current()).toBeUndefined()
  })
})
