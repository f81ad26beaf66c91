import { isSpanContextValid, type SpanContext } from '@opentelemetry/api'

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Parses a W3C `traceparent`; `undefined` for other text, and for one whose ids are zero. */
export function parseTraceparent(text: string): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = pattern.exec(text) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
  return isSpanContextValid(context) ? context : undefined
}

/** Formats the W3C `traceparent` of a span; `undefined` when nothing records the span. */
export function formatTraceparent(context: SpanContext): string | undefined {
  if (!isSpanContextValid(context)) return undefined
  return `00-${context.traceId}-${context.spanId}-0${context.traceFlags & 1}`
}
