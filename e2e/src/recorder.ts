import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { type DataPoint, MeterProvider, MetricReader, type ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Telemetry } from '@outlay/core'
import { openTelemetry } from '@outlay/opentelemetry'
import { waitUntil } from '@outlay/testing'

/** A span as tests read it. */
export interface SeenSpan {
  readonly name: string
  readonly traceId: string
  readonly id: string
  readonly parentId: string | undefined
  readonly attributes: ReadableSpan['attributes']
  readonly error: string | undefined
  readonly links: readonly string[]
}

/** The telemetry of one part of the system, kept in memory by the real SDK. */
export interface Recorder {
  readonly telemetry: Telemetry
  readonly tracerProvider: TracerProvider
  /** Ended spans, in the order of their ends. */
  spans(name?: string): readonly SeenSpan[]
  /** Waits for the only span of a name that has ended. */
  find(name: string, isThis?: (span: SeenSpan) => boolean): Promise<SeenSpan>
  /** The measurements under a name so far. */
  points(name: string): Promise<readonly DataPoint<unknown>[]>
  /** Everything that an exporter gets, spans and metrics. */
  everything(): Promise<readonly unknown[]>
}

class PullReader extends MetricReader {
  protected override onForceFlush = async () => undefined
  protected override onShutdown = async () => undefined
}

/** Lets spans nest by the work that they are started in; once per process. */
export function nestSpans(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
}

/** Opens a recorder. */
export function openRecorder(serviceName: string): Recorder {
  const exporter = new InMemorySpanExporter()
  const resource = resourceFromAttributes({ 'service.name': serviceName })
  const tracerProvider = new TracerProvider({ resource, spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const reader = new PullReader()
  const meterProvider = new MeterProvider({ resource, readers: [reader] })
  const spans = (name?: string) =>
    exporter
      .getFinishedSpans()
      .filter((span) => name === undefined || span.name === name)
      .map(seen)
  const collect = async (): Promise<ResourceMetrics> => (await reader.collect()).resourceMetrics
  return {
    telemetry: openTelemetry({ tracerProvider, meterProvider, gaugeIntervalMs: 0 }),
    tracerProvider,
    spans,
    find: (name, isThis = () => true) =>
      waitUntil(() => spans(name).find(isThis), {
        timeoutMs: 20_000,
        describe: () => `the span ${name} among ${JSON.stringify(spans().map((span) => span.name))}`,
      }),
    async points(name) {
      const metrics = (await collect()).scopeMetrics.flatMap((scope) => scope.metrics)
      const found = metrics.find(({ descriptor }) => descriptor.name === name)
      return (found?.dataPoints ?? []) as readonly DataPoint<unknown>[]
    },
    everything: async () => [exporter.getFinishedSpans(), await collect()],
  }
}

function seen(span: ReadableSpan): SeenSpan {
  const { traceId, spanId } = span.spanContext()
  return {
    name: span.name,
    traceId,
    id: spanId,
    parentId: span.parentSpanContext?.spanId,
    attributes: span.attributes,
    error: span.status.message,
    links: span.links.map((link) => link.context.spanId),
  }
}
