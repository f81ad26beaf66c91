import '@outlay/core/node-version'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import {
  AggregationTemporality,
  type AggregationTemporalitySelector,
  type IMetricReader,
  InstrumentType,
  MeterProvider,
} from '@opentelemetry/sdk-metrics'
import { checkNames, checkNumbers, timerRange } from '@outlay/core/adapter'

/** How metrics are collected for Prometheus. */
export interface PrometheusOptions {
  /** How long the gauges may take to be collected, in milliseconds; those that are late are left out. Those of an engine take a second at most. Default 5 000. */
  readonly timeoutMs?: number | undefined
}

/** Answers a scrape at any path. Callers that ask at the same time share one collection. */
export type MetricsHandler = (request: Request) => Promise<Response>

/** Metrics of one process, in the text format of Prometheus. */
export interface Prometheus {
  /** For `openTelemetry({ meterProvider })`, and for instruments of your own. */
  readonly meterProvider: MeterProvider
  readonly handle: MetricsHandler
}

const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Makes the metrics of a process for Prometheus, with OpenTelemetry's own exporter. It starts no server. No label has the id of an account
 * or of a transfer.
 * @throws Error for an option that does not exist or is out of range.
 *
 * @example
 * const { meterProvider, handle } = prometheus()
 * const engine = createEngine({ backend, gateway, telemetry: openTelemetry({ meterProvider }) })
 */
export function prometheus(options: PrometheusOptions = {}): Prometheus {
  const exporter = new PrometheusExporter({ preventServerStart: true })
  exporter.selectAggregationTemporality = selectTemporality
  const handle = prometheusHandler(exporter, options)
  return { meterProvider: new MeterProvider({ readers: [exporter] }), handle }
}

/** The SDK repeats for ever the last value of a cumulative gauge that is not observed any more: nobody could see that it is not read. */
const selectTemporality: AggregationTemporalitySelector = (type) =>
  type === InstrumentType.OBSERVABLE_GAUGE ? AggregationTemporality.DELTA : AggregationTemporality.CUMULATIVE

/**
 * Makes the same handler for a reader that a meter provider of yours has, such as a `PrometheusExporter` with `preventServerStart`. With a
 * cumulative temporality for gauges, as that one has, the SDK repeats the last value of a gauge that cannot be read any more; `outlay.gauge.age`
 * says so.
 *
 * Names have underscores in place of dots, those of counters end with `_total`, and units are not added: `outlay.submit.duration` becomes
 * `outlay_submit_duration_bucket`, `_sum` and `_count`.
 * @throws Error for an option that does not exist or is out of range.
 */
export function prometheusHandler(
  reader: Pick<IMetricReader, 'collect'>,
  options: PrometheusOptions = {},
): MetricsHandler {
  checkNames(options, ['timeoutMs'])
  const { timeoutMs = 5_000 } = options
  checkNumbers({ timeoutMs }, { timeoutMs: timerRange })
  const serializer = new PrometheusSerializer('', false, undefined, false, true)
  const collect = async () => {
    const { resourceMetrics } = await reader.collect({ timeoutMillis: timeoutMs })
    return serializer.serialize(resourceMetrics)
  }
  let current: Promise<string> | undefined
  const collectShared = () => {
    current ??= collect().finally(() => {
      current = undefined
    })
    return current
  }
  return async ({ method }) => {
    if (method !== 'GET' && method !== 'HEAD') return new Response(null, { status: 405 })
    try {
      const text = await collectShared()
      return new Response(method === 'HEAD' ? null : text, { headers: { 'content-type': contentType } })
    } catch {
      return new Response('The metrics could not be collected.\n', { status: 500 })
    }
  }
}
