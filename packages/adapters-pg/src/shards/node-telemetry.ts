import type { Span, Telemetry, TelemetryAttributes } from '@outlay/core'
import type { QuestionLimit } from './question-limit.ts'

/** The attribute with which measurements of one node are distinguished from those of the others. */
const attribute = 'outlay.node'

/**
 * The same telemetry, with the name of the node in every span and measurement. Gauges are read behind the limit of the node: a collector may wait
 * for all of them together.
 */
export function nodeTelemetry(telemetry: Telemetry, node: string, limit: QuestionLimit): Telemetry {
  const at = (attributes: TelemetryAttributes | undefined): TelemetryAttributes => ({
    ...attributes,
    [attribute]: node,
  })
  const mark = (span: Span): Span => ({
    traceparent: span.traceparent,
    rename: (name) => span.rename(name),
    set: (attributes) => span.set(attributes),
    fail: (type) => span.fail(type),
    measure: (instrument, attributes) => span.measure(instrument, at(attributes)),
  })
  return {
    span: (name, options, work) =>
      telemetry.span(name, { ...options, attributes: at(options.attributes) }, (span) => work(mark(span))),
    current: () => telemetry.current(),
    count: (instrument, value, attributes) => telemetry.count(instrument, value, at(attributes)),
    record: (instrument, value, attributes) => telemetry.record(instrument, value, at(attributes)),
    gauges: (instruments, read) =>
      telemetry.gauges(instruments, async () =>
        (await limit.ask(read)).map((reading) => ({ ...reading, attributes: at(reading.attributes) })),
      ),
  }
}
