import type { Instrument, Telemetry, TelemetryAttributes } from '@outlay/core'
import type { HttpAnswer, HttpFailure, HttpRequest } from './exchange.ts'
import type { Call } from './request.ts'

/** The one measurement of the client. */
export const requestDuration: Instrument = {
  name: 'http.client.request.duration',
  kind: 'histogram',
  attributes: [
    'http.request.method',
    'server.address',
    'server.port',
    'url.template',
    'http.response.status_code',
    'error.type',
  ],
  unit: 's',
  description: 'Duration of requests to the service.',
  boundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
}

/** Replaces the ids in a path, so that all requests of one kind have one name. Words are lower-case. */
export function templateOf({ path, accountId }: Call): string {
  const account = encodeURIComponent(accountId)
  const [withoutQuery = ''] = path.split('?')
  return withoutQuery
    .split('/')
    .map((part) => {
      if (part === account) return '{account_id}'
      return /^[a-z][a-z_-]*$/.test(part) || part === '' ? part : '{id}'
    })
    .join('/')
}

/**
 * Makes one exchange inside a client span and propagates the span's context. It records neither body nor query nor headers, only
 * the status.
 */
export function traceExchange(
  telemetry: Telemetry,
  request: HttpRequest,
  template: string,
  exchange: (request: HttpRequest) => Promise<HttpAnswer | HttpFailure>,
): Promise<HttpAnswer | HttpFailure> {
  const { hostname, port, protocol } = new URL(request.origin)
  const place = {
    'http.request.method': request.method,
    'server.address': hostname,
    'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
    'url.template': template,
  }
  const options = { kind: 'client', attributes: place } as const
  return telemetry.span(`${request.method} ${template}`, options, async (span) => {
    const { traceparent } = span
    const sent = traceparent === undefined ? request : { ...request, headers: { ...request.headers, traceparent } }
    const result = await exchange(sent)
    const outcome = outcomeOf(result)
    span.set(outcome)
    const error = outcome['error.type']
    if (typeof error === 'string') span.fail(error)
    span.measure(requestDuration, { ...place, ...outcome })
    return result
  })
}

function outcomeOf(result: HttpAnswer | HttpFailure): TelemetryAttributes {
  if (result.kind === 'failure') return { 'error.type': result.reason }
  const { status } = result
  return { 'http.response.status_code': status, 'error.type': status >= 400 ? String(status) : undefined }
}
