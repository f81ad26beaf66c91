/** Every instrument as Prometheus sees it: one source for dashboards, alarms and the guide. */
import { instruments } from '../../packages/core/src/engine/instruments.ts'
import type { Instrument, InstrumentKind } from '../../packages/core/src/ports/telemetry.ts'
import { requestDuration } from '../../packages/http-client/src/telemetry.ts'
import { serviceInstruments } from '../../packages/service/src/telemetry.ts'

/** A metric of Prometheus. */
export interface Metric {
  /** Name of the family, with `_total` for a counter. */
  readonly name: string
  readonly kind: InstrumentKind
  readonly unit: string
  readonly description: string
  /** Labels that it may have, without those that a scrape adds. */
  readonly labels: readonly string[]
  /** The name of its instrument. */
  readonly instrument: string
}

const label = (attribute: string): string => attribute.replaceAll(/[^a-zA-Z0-9]+/g, '_')

/**
 * The metric of an instrument.
 * @throws Error for an instrument that does not say its kind and attributes.
 */
export function metricOf({ name, kind, unit, description, attributes }: Instrument): Metric {
  if (kind === undefined || attributes === undefined)
    throw new Error(`The instrument ${name} does not say its kind and its attributes.`)
  const family = label(name) + (kind === 'counter' ? '_total' : '')
  return { name: family, kind, unit, description, labels: attributes.map(label), instrument: name }
}

const isInstrument = (value: object): value is Instrument => 'name' in value

const flat = Object.values(instruments).flatMap((value): readonly Instrument[] =>
  isInstrument(value) ? [value] : Object.values(value),
)

/** What an engine and its client measure. */
export const engineMetrics: readonly Metric[] = [...flat, requestDuration].map(metricOf)

/** What the service measures beside its engine. */
export const serviceMetrics: readonly Metric[] = serviceInstruments.map(metricOf)

/** The series of a metric: those of a histogram have names of their own. */
export function seriesOf({
  name,
  kind,
  labels,
}: Metric): readonly (readonly [name: string, labels: readonly string[]])[] {
  if (kind !== 'histogram') return [[name, labels]]
  return [
    [`${name}_bucket`, [...labels, 'le']],
    [`${name}_sum`, labels],
    [`${name}_count`, labels],
  ]
}
