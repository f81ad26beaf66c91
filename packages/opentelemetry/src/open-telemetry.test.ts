import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { type DataPoint, InstrumentType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { type Instrument, OutlayError, type SpanOptions } from '@outlay/core'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { openTelemetry } from './open-telemetry.ts'

class PullReader extends MetricReader {
  protected override onForceFlush = async () => undefined
  protected override onShutdown = async () => undefined
}

const remote = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const internal: SpanOptions = { kind: 'internal' }
const instrument = (name: string): Instrument => ({ name, unit: '{thing}', description: name })

function open({ sampler, gaugeIntervalMs = 60_000 }: { sampler?: ParentBasedSampler; gaugeIntervalMs?: number } = {}) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
    ...(sampler === undefined ? {} : { sampler }),
  })
  // Otherwise the SDK repeats the last value of a gauge that is not observed any more.
  const reader = new PullReader({
    aggregationTemporalitySelector: (type) => (type === InstrumentType.OBSERVABLE_GAUGE ? 0 : 1),
  })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const spans = () => exporter.getFinishedSpans()
  const collect = async () => {
    const { resourceMetrics } = await reader.collect()
    const all = resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics)
    return (name: string) =>
      (all.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []) as readonly DataPoint<unknown>[]
  }
  return {
    telemetry: openTelemetry({ tracerProvider, meterProvider, gaugeIntervalMs }),
    spans,
    span: (name: string) => {
      const found = spans().find((span) => span.name === name)
      if (found === undefined) throw new Error(`There is no span ${name}.`)
      return found
    },
    points: async (name: string) => (await collect())(name),
    collect,
  }
}

describe('spans', () => {
  beforeAll(() => context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
  afterAll(() => context.disable())

  it('nest by the work that they are started in', async () => {
    const { telemetry, span } = open()
    const inner = await telemetry.span('outer', internal, () =>
      telemetry.span('inner', internal, async ({ traceparent }) => {
        expect(telemetry.current()).toBe(traceparent)
        return traceparent
      }),
    )
    expect(telemetry.current()).toBeUndefined()
    const { traceId, spanId } = span('inner').spanContext()
    expect(inner).toBe(`00-${traceId}-${spanId}-01`)
    expect(span('inner').parentSpanContext?.spanId).toBe(span('outer').spanContext().spanId)
  })

  it('continue a trace from elsewhere, and let spans of others nest in theirs', async () => {
    const { telemetry, span, spans } = open()
    const tracer = new TracerProvider().getTracer('host')
    let own: string | undefined
    await telemetry.span('surrounding', internal, () =>
      telemetry.span('received', { kind: 'consumer', parent: remote }, async () => {
        own = tracer.startSpan('own').spanContext().traceId
      }),
    )
    expect(span('received').kind).toBe(SpanKind.CONSUMER)
    expect(span('received').spanContext().traceId).toBe('0af7651916cd43dd8448eb211c80319c')
    expect(span('received').parentSpanContext).toMatchObject({ spanId: 'b7ad6b7169203331', isRemote: true })
    expect(own).toBe('0af7651916cd43dd8448eb211c80319c')
    expect(spans()).toHaveLength(2)
  })

  it.each([
    ['null', null],
    ['a text that is no traceparent', 'nonsense'],
    ['ids of zeros', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`],
    ['a version that cannot be', remote.replace('00-', 'ff-')],
    ['upper case', remote.toUpperCase()],
  ])('begin a trace of their own where the parent is %s', async (_, parent) => {
    const { telemetry, span } = open()
    await telemetry.span('outer', internal, () =>
      telemetry.span('inner', { ...internal, parent }, async () => undefined),
    )
    expect(span('inner').parentSpanContext).toBeUndefined()
    expect(span('inner').spanContext().traceId).not.toBe(span('outer').spanContext().traceId)
  })

  it('read a traceparent of a later version', async () => {
    const { telemetry, span } = open()
    await telemetry.span('later', { ...internal, parent: `01${remote.slice(2)}-more` }, async () => undefined)
    expect(span('later').parentSpanContext?.spanId).toBe('b7ad6b7169203331')
  })

  it('keep the links that can be read', async () => {
    const { telemetry, span } = open()
    await telemetry.span('linked', { ...internal, links: ['nonsense', remote] }, async () => undefined)
    expect(span('linked').links.map((link) => link.context.spanId)).toEqual(['b7ad6b7169203331'])
  })

  it('have the type of the error and not its message', async () => {
    const { telemetry, span } = open()
    const thrown = new TypeError('account 4455667788 is wrong')
    const refused = new OutlayError('invalid_account_number', 'account 4455667788 is wrong')
    await expect(telemetry.span('mistake', internal, () => Promise.reject(thrown))).rejects.toBe(thrown)
    await expect(telemetry.span('refusal', internal, () => Promise.reject(refused))).rejects.toBe(refused)
    expect(span('mistake').status).toEqual({ code: SpanStatusCode.ERROR, message: 'TypeError' })
    expect(span('refusal').attributes).toEqual({ 'error.type': 'invalid_account_number' })
    expect(span('refusal').events).toEqual([])
  })

  it('that are not sampled still pass on that they are not', async () => {
    const { telemetry, spans } = open({ sampler: new ParentBasedSampler({ root: new AlwaysOffSampler() }) })
    const traceparent = await telemetry.span('unseen', internal, async (span) => span.traceparent)
    expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)
    expect(spans()).toEqual([])
  })

  it('have no context where no SDK is registered', async () => {
    trace.disable()
    const telemetry = openTelemetry()
    const answer = await telemetry.span('nothing', internal, async (span) => [span.traceparent, telemetry.current()])
    expect(answer).toEqual([undefined, undefined])
  })
})

describe('measurements', () => {
  it('are added up by their attributes', async () => {
    const { telemetry, points } = open()
    const things = instrument('things')
    telemetry.count(things, 1, { kind: 'a', none: undefined })
    telemetry.count(things, 2, { kind: 'a' })
    expect(await points('things')).toMatchObject([{ attributes: { kind: 'a' }, value: 3 }])
  })

  it('fall into the buckets of their instrument', async () => {
    const { telemetry, points } = open()
    telemetry.record({ ...instrument('seconds'), boundaries: [1, 5] }, 3, {})
    await telemetry.span('timed', internal, async (span) => span.measure(instrument('seconds'), {}))
    const [point] = await points('seconds')
    expect(point?.value).toMatchObject({ count: 2, buckets: { boundaries: [1, 5], counts: [1, 1, 0] } })
  })
})

describe('gauges', () => {
  const depth = instrument('depth')

  it('are read when they are collected, and once for many collections', async () => {
    const { telemetry, points } = open()
    let reads = 0
    telemetry.gauges([depth], async () => {
      reads += 1
      return [{ instrument: depth, value: 7, attributes: { stage: 'queued' } }]
    })
    expect(reads).toBe(0)
    expect(await points('depth')).toMatchObject([{ attributes: { stage: 'queued' }, value: 7 }])
    expect(await points('depth')).toMatchObject([{ value: 7 }])
    expect(reads).toBe(1)
  })

  it('are not read once they are ended', async () => {
    const { telemetry, points } = open({ gaugeIntervalMs: 0 })
    let reads = 0
    const end = telemetry.gauges([depth], async () => {
      reads += 1
      return []
    })
    await points('depth')
    await points('depth')
    end()
    await points('depth')
    expect(reads).toBe(2)
  })

  it('whose read is slow keep their last values and are not read twice at once, and others do not wait for it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const bench = open({ gaugeIntervalMs: 0 })
    const { telemetry } = bench
    const width = instrument('width')
    const asked: ReturnType<typeof Promise.withResolvers<number>>[] = []
    telemetry.gauges([depth], async () => {
      const question = Promise.withResolvers<number>()
      asked.push(question)
      return [{ instrument: depth, value: await question.promise }]
    })
    let reads = 0
    telemetry.gauges([width], async () => {
      reads += 1
      return [{ instrument: width, value: reads }]
    })
    const collect = async (during?: () => void) => {
      const collected = bench.collect()
      await vi.advanceTimersByTimeAsync(0)
      during?.()
      await vi.advanceTimersByTimeAsync(1_000)
      const pointsOf = await collected
      return [pointsOf('depth')[0]?.value, pointsOf('width')[0]?.value]
    }
    const [depthThen, widthThen] = await collect(() => asked[0]?.resolve(7))
    expect([depthThen, typeof widthThen]).toEqual([7, 'number'])
    for (let scrape = 1; scrape <= 10; scrape += 1) {
      const [depthNow, widthNow] = await collect()
      expect([scrape, depthNow, typeof widthNow]).toEqual([scrape, 7, 'number'])
    }
    expect(asked).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(300_000)
    // Too old, and the read is taken for lost.
    expect((await collect())[0]).toBeUndefined()
    expect(asked).toHaveLength(3)
    asked[2]?.resolve(9)
    await vi.advanceTimersByTimeAsync(0)
    asked[1]?.resolve(8)
    expect((await collect())[0]).toBe(9)
  })

  it('that cannot be read are left out, and read again the next time', async () => {
    const { telemetry, points } = open()
    let reads = 0
    telemetry.gauges([depth], async () => {
      reads += 1
      if (reads === 1) throw new Error('The database is away.')
      return [{ instrument: depth, value: 1 }]
    })
    expect(await points('depth')).toEqual([])
    expect(await points('depth')).toMatchObject([{ value: 1 }])
  })
})
