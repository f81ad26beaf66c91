import { createServer, type RequestListener, type ServerOptions } from 'node:http'
import { checkNumbers, timerRange } from '@outlay/core/adapter'

/** How long a server waits for a client, and how many it serves at once. Times are in milliseconds. */
export interface ServerLimits {
  /** From the first moment of a connection, or of a further request on it, to the end of the headers. Default 10,000. */
  readonly headersTimeoutMs: number
  /** To the end of the body. Default 30,000. */
  readonly requestTimeoutMs: number
  /** Without a byte in either direction, while the server computes an answer or the client reads it. Default 120,000. */
  readonly idleTimeoutMs: number
  /** Between two requests of one connection. Default 5,000. */
  readonly keepAliveTimeoutMs: number
  /** Connections at once. Further ones are closed. Default 1,000. */
  readonly maxConnections: number
}

const defaults: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  idleTimeoutMs: 120_000,
  keepAliveTimeoutMs: 5_000,
  maxConnections: 1_000,
}

const ranges = {
  headersTimeoutMs: timerRange,
  requestTimeoutMs: timerRange,
  idleTimeoutMs: timerRange,
  keepAliveTimeoutMs: timerRange,
  maxConnections: { min: 1, max: 1_000_000, integer: true },
}

/** Longest interval between two checks for connections that exceed a time limit. */
const longestPauseMs = 1_000

/**
 * Returns a `createServer` of `node:http` whose servers do not wait forever for slow clients. A connection that sends its headers
 * or its body too slowly is answered 408 and closed. One that sends nothing is closed.
 *
 * @example
 * serve({ fetch: service.fetch, port: 3000, createServer: limitedServer() })
 */
export function limitedServer(limits: Partial<ServerLimits> = {}): typeof createServer {
  checkNumbers({ ...limits }, ranges, 'limits.')
  const { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs, keepAliveTimeoutMs, maxConnections } = {
    ...defaults,
    ...limits,
  }
  const create = (options: ServerOptions, listener?: RequestListener) => {
    const server = createServer(
      {
        ...options,
        headersTimeout: headersTimeoutMs,
        requestTimeout: requestTimeoutMs,
        keepAliveTimeout: keepAliveTimeoutMs,
        connectionsCheckingInterval: Math.min(longestPauseMs, headersTimeoutMs / 2),
        // Request smuggling exploits two parsers that read one message differently.
        insecureHTTPParser: false,
      },
      listener,
    )
    server.timeout = idleTimeoutMs
    server.maxConnections = maxConnections
    return server
  }
  return create as typeof createServer
}
