/** Attributes of a span or a measurement; `undefined` is left out. Never an amount, a key, a name or a bank account number. */
export type TelemetryAttributes = Readonly<Record<string, string | number | boolean | undefined>>

/** The role of a span: sends a message, receives one, sends a request, answers one, or none of these. */
export type SpanKind = 'producer' | 'consumer' | 'client' | 'server' | 'internal'

/** How a span starts. */
export interface SpanOptions {
  readonly kind: SpanKind
  readonly attributes?: TelemetryAttributes | undefined
  /**
   * The parent span: a W3C `traceparent`; null starts a new trace. Default: the caller's current span. A `traceparent` that
   * cannot be read counts as null.
   */
  readonly parent?: string | null | undefined
  /** Related spans of other traces, as `traceparent`; those that cannot be read are left out. */
  readonly links?: readonly string[] | undefined
}

/** A span under way. It ends when its work ends. */
export interface Span {
  /** Its W3C `traceparent`, to be sent on or stored; `undefined` when nothing is recorded. */
  readonly traceparent: string | undefined
  rename(name: string): void
  set(attributes: TelemetryAttributes): void
  /** Marks the span as an error of this type: a code or a class, never a message. */
  fail(type: string): void
  /** Adds the time since its start to a histogram, in seconds. */
  measure(instrument: Instrument, attributes: TelemetryAttributes): void
}

/** What an instrument measures: a sum that only grows, a distribution, or a value of this moment. */
export type InstrumentKind = 'counter' | 'histogram' | 'gauge'

/** A measurement. */
export interface Instrument {
  /** Unique, in dotted lower case. */
  readonly name: string
  /** In the notation of UCUM: `s`, `{transfer}`. */
  readonly unit: string
  readonly description: string
  /** Upper bounds of the histogram's buckets. Default: those of the implementation. */
  readonly boundaries?: readonly number[] | undefined
  /** For documents, dashboards and alarms. Default: unknown. */
  readonly kind?: InstrumentKind | undefined
  /** Names of all attributes that its measurements may have. Default: unknown. */
  readonly attributes?: readonly string[] | undefined
}

/** One value of a gauge. */
export interface GaugeReading {
  readonly instrument: Instrument
  readonly value: number
  readonly attributes?: TelemetryAttributes | undefined
}

/**
 * Where traces and metrics go. No member may throw, whatever it is given. Without telemetry the engine calls nothing, stores
 * nothing and sends nothing.
 */
export interface Telemetry {
  /**
   * Runs `work` inside a new span, the parent of all spans that `work` starts, and ends the span when `work` settles. A
   * rejection marks the span as an error of the type that was thrown, and is passed on.
   */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>
  /** The `traceparent` of the caller's current span; `undefined` outside of any. */
  current(): string | undefined
  /** Adds to a counter. */
  count(instrument: Instrument, value: number, attributes: TelemetryAttributes): void
  /** Adds a value to a histogram. */
  record(instrument: Instrument, value: number, attributes: TelemetryAttributes): void
  /** Reads gauges when they are collected, at a bounded rate. Returns a function that ends it. */
  gauges(instruments: readonly Instrument[], read: () => Promise<readonly GaugeReading[]>): () => void
}
