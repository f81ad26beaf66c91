import type { GaugeReading, Instrument, Span, SpanOptions, Telemetry, TelemetryAttributes } from '@outlay/core'

/** A finished span. */
export interface RecordedSpan {
  /** The last name that was set. */
  readonly name: string
  readonly options: SpanOptions
  /** Attributes of its start and those that were set later; the last of each name. */
  readonly attributes: TelemetryAttributes
  /** Types of errors, in order; a rejection of its work is not among them. */
  readonly errors: readonly string[]
  readonly traceparent: string
}

/** A counted or measured value. */
export interface RecordedValue {
  readonly instrument: string
  /** Undefined for a duration, which is different every time. */
  readonly value: number | undefined
  readonly attributes: TelemetryAttributes
}

/** Telemetry that records spans and values. Its spans are unrelated, because it has no context. */
export interface RecordingTelemetry extends Telemetry {
  /** In the order of their ends. */
  readonly spans: readonly RecordedSpan[]
  readonly values: readonly RecordedValue[]
  /** Reads the gauges that are not ended. */
  readGauges(): Promise<readonly GaugeReading[]>
}

/** Makes telemetry that records spans and values, for assertions of a test. */
export function recordingTelemetry(current?: string): RecordingTelemetry {
  const spans: RecordedSpan[] = []
  const values: RecordedValue[] = []
  const gauges = new Set<() => Promise<readonly GaugeReading[]>>()
  const keep = ({ name }: Instrument, value: number | undefined, attributes: TelemetryAttributes) => {
    values.push({ instrument: name, value, attributes })
  }
  let started = 0
  return {
    spans,
    values,
    async span(name, options, work) {
      started += 1
      const traceparent = `00-${'a'.repeat(32)}-${String(started).padStart(16, '0')}-01`
      const errors: string[] = []
      const recorded = { name, attributes: { ...options.attributes } }
      const span: Span = {
        traceparent,
        rename: (other) => {
          recorded.name = other
        },
        set: (attributes) => {
          Object.assign(recorded.attributes, attributes)
        },
        fail: (type) => errors.push(type),
        measure: (instrument, attributes) => keep(instrument, undefined, attributes),
      }
      try {
        return await work(span)
      } finally {
        spans.push({ ...recorded, options, errors, traceparent })
      }
    },
    current: () => current,
    count: keep,
    record: keep,
    gauges(_, read) {
      gauges.add(read)
      return () => gauges.delete(read)
    },
    readGauges: async () => (await Promise.all([...gauges].map((read) => read()))).flat(),
  }
}
