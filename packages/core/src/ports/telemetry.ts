/** What a span, or a measurement, is told about; `undefined` is left out. Never an amount, a key, a name or a number of a bank account. */
export type TelemetryAttributes = Readonly<Record<string, string | number | boolean | undefined>>

/** What a span is to others: sends a message, takes one, sends a request, answers one, or none of these. */
export type SpanKind = 'producer' | 'consumer' | 'client' | 'server' | 'internal'

/** How a span starts. */
export interface SpanOptions {
  readonly kind: SpanKind
  readonly attributes?: TelemetryAttributes | undefined
  /**
   * The span above it: a W3C `traceparent`; null for a trace of its own. Default: the span in whose work the caller is. One
   * that cannot be read counts as null.
   */
  readonly parent?: string | null | undefined
  /** Spans of other traces that it has to do with, as `traceparent`; those that cannot be read are left out. */
  readonly links?: readonly string[] | undefined
}

/** A span under way. It ends when the work that it was started for ends. */
export interface Span {
  /** Its W3C `traceparent`, to be sent on or stored; `undefined` when nothing records. */
  readonly traceparent: string | undefined
  rename(name: string): void
  set(attributes: TelemetryAttributes): void
  /** Marks it as an error of this type: a code or a class, never a message. */
  fail(type: string): void
  /** Adds the time since its start to a histogram, in seconds. */
  measure(instrument: Instrument, attributes: TelemetryAttributes): void
}

/** Something that is measured. */
export interface Instrument {
  /** Unique, in dotted lower case. */
  readonly name: string
  /** In the notation of UCUM: `s`, `{transfer}`. */
  readonly unit: string
  readonly description: string
  /** Upper bounds of the buckets of a histogram. Default: what the implementation has. */
  readonly boundaries?: readonly number[] | undefined
}

/** One value of a gauge. */
export interface GaugeReading {
  readonly instrument: Instrument
  readonly value: number
  readonly attributes?: TelemetryAttributes | undefined
}

/**
 * Where traces and metrics go. Nothing here throws, whatever becomes of what it is told. Where none is given nothing is
 * called, nothing is stored and nothing is sent.
 */
export interface Telemetry {
  /**
   * Runs `work` inside a new span, so that spans that it starts are below it, and ends the span when `work` settles. A
   * rejection makes the span an error of the type of what was thrown, and is passed on.
   */
  span<T>(name: string, options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>
  /** The `traceparent` of the span in whose work the caller is; `undefined` outside of any. */
  current(): string | undefined
  /** Adds to a counter. */
  count(instrument: Instrument, value: number, attributes: TelemetryAttributes): void
  /** Adds a value to a histogram. */
  record(instrument: Instrument, value: number, attributes: TelemetryAttributes): void
  /** Reads gauges when they are collected, not more often than is good for what is read. Gives what ends that. */
  gauges(instruments: readonly Instrument[], read: () => Promise<readonly GaugeReading[]>): () => void
}
