import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Meter,
  type MeterProvider,
  metrics,
  type Span as OpenTelemetrySpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import {
  type Instrument,
  OutlayError,
  type Span,
  type SpanOptions,
  type Telemetry,
  type TelemetryAttributes,
} from '@outlay/core'
import { checkNames, checkNumbers } from '@outlay/core/adapter'
import { createGauges } from './gauges.ts'
import { formatTraceparent, parseTraceparent } from './traceparent.ts'

/** Where traces and metrics go. Every member has a default. */
export interface OpenTelemetryOptions {
  /** Default: the global one, whenever it is registered. */
  readonly tracerProvider?: TracerProvider | undefined
  /** Default: the global one; it has to be registered before {@link openTelemetry} is called. */
  readonly meterProvider?: MeterProvider | undefined
  /** Shortest time between two reads of the database for gauges, however often they are collected, in milliseconds. Default 15 000. */
  readonly gaugeIntervalMs?: number | undefined
}

const scope = '@outlay/opentelemetry'

const kinds = {
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  server: SpanKind.SERVER,
  internal: SpanKind.INTERNAL,
} as const satisfies Record<SpanOptions['kind'], SpanKind>

/**
 * Creates the telemetry of an engine, a client or a service with the OpenTelemetry API. Without a registered SDK it records
 * nothing. Spans nest by the context manager of the SDK, so one has to be registered; `NodeSDK` does it.
 *
 * @example
 * const engine = createEngine({ backend, gateway, telemetry: openTelemetry() })
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  checkNames(options, ['tracerProvider', 'meterProvider', 'gaugeIntervalMs'])
  checkNumbers({ gaugeIntervalMs: options.gaugeIntervalMs }, { gaugeIntervalMs: { min: 0 } })
  const tracer = (options.tracerProvider ?? trace).getTracer(scope)
  const meter = (options.meterProvider ?? metrics).getMeter(scope)
  const counters = remember((one) => meter.createCounter(one.name, { unit: one.unit, description: one.description }))
  const histograms = rememberHistograms(meter)
  return {
    span: (name, spanOptions, work) => runSpan(tracer, histograms, name, spanOptions, work),
    current: () => {
      const active = trace.getSpanContext(context.active())
      return active === undefined ? undefined : formatTraceparent(active)
    },
    count: (instrument, value, attributes) => counters(instrument).add(value, defined(attributes)),
    record: (instrument, value, attributes) => histograms(instrument).record(value, defined(attributes)),
    gauges: createGauges(meter, options.gaugeIntervalMs ?? 15_000),
  }
}

type Histograms = (instrument: Instrument) => { record(value: number, attributes: Attributes): void }

function rememberHistograms(meter: Meter): Histograms {
  return remember(({ name, unit, description, boundaries }) => {
    const advice = boundaries === undefined ? {} : { advice: { explicitBucketBoundaries: [...boundaries] } }
    return meter.createHistogram(name, { unit, description, ...advice })
  })
}

/** Creates each instrument once. */
function remember<Made>(make: (instrument: Instrument) => Made): (instrument: Instrument) => Made {
  const made = new Map<string, Made>()
  return (instrument) => {
    const known = made.get(instrument.name)
    if (known !== undefined) return known
    const fresh = make(instrument)
    made.set(instrument.name, fresh)
    return fresh
  }
}

async function runSpan<T>(
  tracer: Tracer,
  histograms: Histograms,
  name: string,
  options: SpanOptions,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const above = contextAbove(options.parent)
  const started = tracer.startSpan(
    name,
    { kind: kinds[options.kind], attributes: defined(options.attributes ?? {}), links: linksOf(options.links ?? []) },
    above,
  )
  const startedMs = performance.now()
  try {
    const handle = handleOf(started, (instrument, attributes) =>
      histograms(instrument).record((performance.now() - startedMs) / 1000, defined(attributes)),
    )
    return await context.with(trace.setSpan(above, started), work, undefined, handle)
  } catch (error) {
    fail(started, errorTypeOf(error))
    throw error
  } finally {
    started.end()
  }
}

function handleOf(span: OpenTelemetrySpan, measure: Span['measure']): Span {
  return {
    traceparent: formatTraceparent(span.spanContext()),
    rename: (name) => void span.updateName(name),
    set: (attributes) => void span.setAttributes(defined(attributes)),
    fail: (type) => fail(span, type),
    measure,
  }
}

function contextAbove(parent: SpanOptions['parent']): Context {
  if (parent === undefined) return context.active()
  const remote = parent === null ? undefined : parseTraceparent(parent)
  return remote === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote)
}

function linksOf(links: readonly string[]): Link[] {
  return links.flatMap((link) => {
    const linked = parseTraceparent(link)
    return linked === undefined ? [] : [{ context: linked }]
  })
}

function fail(span: OpenTelemetrySpan, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR, message: type })
}

/** A code or a class, never a message: a database's message may quote a row. */
function errorTypeOf(error: unknown): string {
  if (OutlayError.is(error)) return error.code
  return error instanceof Error ? error.name : typeof error
}

function defined(attributes: TelemetryAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)) as Attributes
}
