import type { Context, Hono } from 'hono'
import type { ServiceContext } from '../context.ts'
import type { Operation } from '../schema/operation.ts'
import type { CallerCache } from './caller-cache.ts'
import type { Connection } from './connection.ts'
import type { CredentialChecks } from './credentials.ts'
import type { InFlight } from './in-flight.ts'
import type { RateLimiter } from './rate-limit.ts'

/** Variables of a request. */
export interface ServiceEnv {
  readonly Bindings: Connection
  readonly Variables: {
    readonly requestId: string
    /** What the request counts for before it is authenticated; `undefined` when the server does not give it. */
    readonly clientAddress: string | undefined
    readonly callers: CallerCache
    readonly credentials: CredentialChecks
    readonly rateLimiter: RateLimiter
    readonly inFlight: InFlight
    /** The operation of a route, by its method in capitals and its path as the router has it. */
    readonly findOperation: (method: string, path: string) => Operation | undefined
  }
}

/** The application on which routes are mounted. */
export type ServiceApp = Hono<ServiceEnv>

/** The context of one request. */
export type ServiceRequest = Context<ServiceEnv>

/** Mounts the routes of one noun. */
export type RouteModule = (app: ServiceApp, context: ServiceContext) => void
