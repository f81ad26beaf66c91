import type { GaugeReading, Instrument, Span, SpanOptions, Telemetry, TelemetryAttributes } from '@outlay/core'

/** A span that has ended. */
export interface RecordedSpan {
  /** The last one that it was given. */
  readonly name: string
  readonly options: SpanOptions
  /** Those of its start and those that were set, the last of each name. */
  readonly attributes: TelemetryAttributes
  /** Types of errors, in order; a rejection of its work is not among them. */
  readonly errors: readonly string[]
  readonly traceparent: string
}

/** A value that was counted or measured. */
export interface RecordedValue {
  readonly instrument: string
  /** Undefined for a duration, which is different every time. */
  readonly value: number | undefined
  readonly attributes: TelemetryAttributes
}

/** Telemetry that keeps what it is told. Its spans know nothing of each other: there is no context. */
export interface RecordingTelemetry extends Telemetry {
  /** In the order of their ends. */
  readonly spans: readonly RecordedSpan[]
  readonly values: readonly RecordedValue[]
  /** Reads the gauges that are not ended. */
  readGauges(): Promise<readonly GaugeReading[]>
}

/** Makes telemetry that keeps what it is told, for a test to look at. */
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
      const told = { name, attributes: { ...options.attributes } }
      const span: Span = {
        traceparent,
        rename: (other) => {
          told.name = other
        },
        set: (attributes) => {
          Object.assign(told.attributes, attributes)
        },
        fail: (type) => errors.push(type),
        measure: (instrument, attributes) => keep(instrument, undefined, attributes),
      }
      try {
        return await work(span)
      } finally {
        spans.push({ ...told, options, errors, traceparent })
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
