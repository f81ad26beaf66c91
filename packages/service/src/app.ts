import { OutlayError, type Telemetry } from '@outlay/core'
import { Hono } from 'hono'
import { routePath } from 'hono/route'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { createCredentialChecks } from './clients/credential-checks.ts'
import type { ServiceContext } from './context.ts'
import { unlessConnectionLost } from './database/connection-lost.ts'
import { isShareRefusal } from './database/pool-share.ts'
import { readFor } from './database/reader.ts'
import { createCallerCache } from './http/caller-cache.ts'
import { clientAddressOf } from './http/client-address.ts'
import type { Connection } from './http/connection.ts'
import { createInFlight } from './http/in-flight.ts'
import { problemOf } from './http/problem.ts'
import { createRateLimiter } from './http/rate-limit.ts'
import type { RouteModule, ServiceApp, ServiceEnv, ServiceRequest } from './http/request.ts'
import { refuseUnrouted } from './http/unoffered.ts'
import { findOperation } from './openapi/operations.ts'
import { traceRequest } from './telemetry.ts'

/** One mounted route: its method in capitals and its path as the router has it. */
export interface MountedRoute {
  readonly method: string
  readonly path: string
}

/** Makes the HTTP side of the service: `Request` in, `Response` out, mountable in any server. */
export function createApp(
  context: ServiceContext,
  routes: readonly RouteModule[],
): { fetch(request: Request, connection?: Connection): Promise<Response>; readonly routes: readonly MountedRoute[] } {
  const app: ServiceApp = new Hono<ServiceEnv>({ strict: false })
  const callers = createCallerCache(context.tokenCacheMs ?? 3_000)
  const rateLimiter = createRateLimiter(context.rateLimit ?? { perSecond: 2_000, burst: 2_000 })
  const credentials = createCredentialChecks(context)
  const inFlight = createInFlight(context.idempotencyWaitMs ?? 10_000)
  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(c, context))
    c.set('clientAddress', clientAddressOf(c.env, c.req.header('x-forwarded-for'), context.trustedProxies ?? 0))
    c.set('callers', callers)
    c.set('credentials', credentials)
    c.set('rateLimiter', rateLimiter)
    c.set('inFlight', inFlight)
    c.set('findOperation', (method, path) => findOperation(method, path, context.dialect))
    const startedMs = performance.now()
    const answer = () => (context.telemetry === undefined ? next() : traceNext(c, context.telemetry, next))
    await (reads.has(c.req.method) ? readFor(c.req.raw, answer) : answer())
    c.res.headers.set('x-request-id', c.get('requestId'))
    c.res.headers.set('x-content-type-options', 'nosniff')
    if (!c.res.headers.has('cache-control')) c.res.headers.set('cache-control', 'no-store')
    logRequest(c, context, startedMs)
  })
  for (const mount of routes) mount(app, context)
  app.notFound((c) => answerProblem(c, context, refuseUnrouted(c.req.method, c.req.path)))
  app.onError((error, c) => answerProblem(c, context, error))
  return { fetch: async (request, connection) => app.fetch(request, connection), routes: routesOf(app) }
}

/** The mounted routes of an application, in order, without the middleware that runs before them. */
export function routesOf(app: ServiceApp): readonly MountedRoute[] {
  return app.routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => ({ method, path }))
}

/** Runs the request inside a span. */
function traceNext(c: ServiceRequest, telemetry: Telemetry, next: () => Promise<void>): Promise<void> {
  const request = { method: c.req.method, traceparent: c.req.header('traceparent') }
  return traceRequest(telemetry, request, async () => {
    await next()
    return { route: routeOf(c), status: c.res.status }
  })
}

function routeOf(c: ServiceRequest): string | undefined {
  const route = routePath(c)
  return route === '/*' ? undefined : route
}

/** Logs one line per request: the route instead of the path, because a path contains ids, and nothing of the body. */
function logRequest(c: ServiceRequest, context: ServiceContext, startedMs: number): void {
  const route = routePath(c)
  const level = probes.has(route) ? 'debug' : 'info'
  const fields = {
    requestId: c.get('requestId'),
    method: c.req.method,
    route: route === '/*' ? null : route,
    status: c.res.status,
    durationMs: Math.round((performance.now() - startedMs) * 100) / 100,
  }
  context.logger[level](fields, 'A request was answered.')
}

/** Methods of requests that change nothing. */
const reads = new Set(['GET', 'HEAD'])

const probes = new Set(['/health', '/ready'])

/** Answers with the problem of an error; an unexpected one is logged under the request's id. */
function answerProblem(c: ServiceRequest, context: ServiceContext, error: unknown): Response {
  const { problem, headers, unexpected } = problemOf(unlessConnectionLost(error), c.get('requestId'))
  if (unexpected && !isShareRefusal(error))
    context.logger.error(
      { requestId: problem.request_id, method: c.req.method, route: routePath(c), ...describe(error) },
      'A request failed.',
    )
  return c.body(JSON.stringify(problem), problem.status as ContentfulStatusCode, {
    ...headers,
    'content-type': 'application/problem+json',
  })
}

/**
 * What may be logged of an error. The message and detail of a database error can quote values of a row, so the log has only its
 * code, its constraint and the place in our own code. The same applies to a syntax error, which quotes what was parsed.
 */
function describe(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { error: typeof error }
  const { code, constraint } = error as { code?: unknown; constraint?: unknown }
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at '))
  if (code !== undefined && !OutlayError.is(error)) return { error: error.name, code, constraint, frames }
  if (error instanceof SyntaxError) return { error: error.name, frames }
  return { error: error.name, message: error.message, frames }
}

function requestIdOf(c: ServiceRequest, context: ServiceContext): string {
  const given = c.req.header('x-request-id')
  if (given !== undefined && /^[A-Za-z0-9_-]{8,64}$/.test(given)) return given
  return Buffer.from(context.random.bytes(12)).toString('hex')
}
