import type { Instrument, Span, Telemetry } from '@outlay/core'

/** Buckets of the conventions for HTTP, in seconds. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

const requestDuration: Instrument = {
  name: 'http.server.request.duration',
  kind: 'histogram',
  attributes: ['http.request.method', 'http.route', 'http.response.status_code', 'error.type'],
  unit: 's',
  description: 'Duration of a request to the service.',
  boundaries,
}

const deliveryDuration: Instrument = {
  name: 'outlay.webhook.delivery.duration',
  kind: 'histogram',
  attributes: ['http.response.status_code'],
  unit: 's',
  description: 'Duration of a webhook request to an endpoint.',
  boundaries,
}

const railExceptions: Instrument = {
  name: 'outlay.rail.exceptions',
  kind: 'counter',
  attributes: ['outlay.fact', 'outlay.rail', 'outlay.reason'],
  unit: '{fact}',
  description: 'Facts of rails that could not be applied.',
}

const openRailExceptions: Instrument = {
  name: 'outlay.rail.exceptions.open',
  kind: 'gauge',
  attributes: ['outlay.reason'],
  unit: '{fact}',
  description: 'Facts of rails that could not be applied and wait for a person.',
}

/** What the service measures, beside what its engine does. */
export const serviceInstruments = [requestDuration, deliveryDuration, railExceptions, openRailExceptions] as const

/** The result of a request: its route instead of its path, because a path contains ids. */
export interface AnsweredRequest {
  /** Undefined for a path without a route. */
  readonly route: string | undefined
  readonly status: number
}

/**
 * Answers a request inside a server span, which continues the caller's trace. If an outer server has already continued the trace,
 * the span is a child of that server's span.
 */
export function traceRequest(
  telemetry: Telemetry,
  request: { readonly method: string; readonly traceparent: string | undefined },
  answer: () => Promise<AnsweredRequest>,
): Promise<void> {
  const { method, traceparent } = request
  const known = { 'http.request.method': method }
  const parent = isBelow(telemetry.current(), traceparent) ? undefined : traceparent
  return telemetry.span(method, { kind: 'server', parent, attributes: known }, async (span) => {
    const { route, status } = await answer()
    if (route !== undefined) span.rename(`${method} ${route}`)
    const outcome = {
      'http.route': route,
      'http.response.status_code': status,
      'error.type': status >= 500 ? String(status) : undefined,
    }
    span.set(outcome)
    if (status >= 500) span.fail(String(status))
    span.measure(requestDuration, { ...known, ...outcome })
  })
}

/** True when both have the same trace. */
function isBelow(current: string | undefined, traceparent: string | undefined): boolean {
  return current !== undefined && traceparent !== undefined && current.slice(3, 35) === traceparent.slice(3, 35)
}

/** Makes a delivery inside a client span of the event's trace. The URL belongs to the tenant and is not recorded. */
export function traceDelivery<T extends { readonly status: number }>(
  telemetry: Telemetry | undefined,
  delivery: { readonly traceparent: string | null; readonly attempt: number },
  send: (traceparent: string | undefined) => Promise<T>,
): Promise<T> {
  if (telemetry === undefined) return send(undefined)
  const attributes = { 'http.request.method': 'POST', 'outlay.attempt': delivery.attempt }
  const options = { kind: 'client', parent: delivery.traceparent, attributes } as const
  return telemetry.span('outlay deliver webhook', options, async (span: Span) => {
    const answer = await send(span.traceparent)
    const { status } = answer
    span.set({ 'http.response.status_code': status })
    if (status < 200 || status >= 300) span.fail(String(status))
    span.measure(deliveryDuration, { 'http.response.status_code': status })
    return answer
  })
}

/** Counts a fact of a rail that could not be applied. */
export function countRailException(
  telemetry: Telemetry | undefined,
  { kind, rail, reason }: { readonly kind: string; readonly rail: string | undefined; readonly reason: string },
): void {
  const attributes = { 'outlay.fact': kind, 'outlay.rail': rail, 'outlay.reason': reason }
  telemetry?.count(railExceptions, 1, attributes)
}

/** Starts a gauge of the facts that wait for a person, by reason. Returns a function that ends it. */
export function gaugeRailExceptions(
  telemetry: Telemetry,
  count: () => Promise<readonly { readonly reason: string; readonly count: number }[]>,
): () => void {
  return telemetry.gauges([openRailExceptions], async () =>
    (await count()).map(({ reason, count: value }) => ({
      instrument: openRailExceptions,
      value,
      attributes: { 'outlay.reason': reason },
    })),
  )
}
