import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  ConsoleSpanExporter,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'

/** Spans go to the console and are kept for the tree at the end. */
const exporter = new InMemorySpanExporter()
const spanProcessors = [
  new SimpleSpanProcessor({ exporter: new ConsoleSpanExporter() }),
  new SimpleSpanProcessor({ exporter }),
]

/** The SDK of one service. A real application would use `NodeSDK`, which registers all of this globally. */
export function openTracing(serviceName: string): TracerProvider {
  const resource = resourceFromAttributes({ 'service.name': serviceName })
  return new TracerProvider({ resource, spanProcessors })
}

/** Nests spans by the work in which they start. */
export function nestSpans(): void {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
}

/** The trace that a span is in, one line a span: service, name, and result. */
export function drawTrace(traceId: string): string {
  const spans = exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId)
  const draw = (parentId: string | undefined, depth: number): readonly string[] =>
    spans
      .filter((span) => span.parentSpanContext?.spanId === parentId)
      .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
      .flatMap((span) => [lineOf(span, depth), ...draw(span.spanContext().spanId, depth + 1)])
  return [`trace ${traceId}`, ...draw(undefined, 0)].join('\n')
}

function lineOf({ resource, name, attributes }: ReadableSpan, depth: number): string {
  const service = String(resource.attributes['service.name']).padEnd(10)
  const outcome =
    attributes['outlay.outcome'] ?? attributes['outlay.event.type'] ?? attributes['http.response.status_code'] ?? ''
  return `${service}${'  '.repeat(depth)}${name} ${outcome}`.trimEnd()
}
