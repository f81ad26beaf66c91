import { Agent, createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import type { Random } from '@outlay/core'
import { exchange } from './fault-exchange.ts'
import { createFaultBook, type FaultBook } from './faults.ts'
import { listenOnLoopback } from './free-port.ts'
import { seededRandom } from './random.ts'

/** Options of {@link startFaultProxy}. */
export interface FaultProxyOptions {
  /** Target of requests: scheme `http`, host and port. */
  readonly target: string
  /** Decides about rules with a probability. Default: seeded with 1. */
  readonly random?: Random | undefined
}

/** An HTTP proxy that fails on command. */
export interface FaultProxy {
  /** Address for clients, instead of the target's. */
  readonly url: string
  readonly faults: Omit<FaultBook, 'plan'>
  /** Current connections of clients. */
  readonly connections: number
  /** Cuts the network: resets every connection and every new one until `heal`. */
  cut(): void
  heal(): void
  /** Resets every connection and stops. Held requests are not delivered. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a proxy on 127.0.0.1 between a client and an HTTP server. Without rules it passes everything on unchanged, in
 * both directions as it streams, over one kept connection to the target per connection of the client. A target that
 * cannot be reached is a reset.
 *
 * @example
 * await using proxy = await startFaultProxy({ target: service.url })
 * proxy.faults.add({ method: 'POST', path: /transfers$/, nth: 1, fault: { kind: 'drop_response' } })
 */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const target = new URL(options.target)
  if (target.protocol !== 'http:') throw new Error(`The proxy speaks http only, not ${target.protocol}`)
  const faults = createFaultBook(options.random ?? seededRandom(1))
  const links = new Map<Socket, Agent>()
  let isCut = false
  let isStopped = false

  const listener: RequestListener = (request, response) => {
    const plan = faults.plan({ method: request.method ?? 'GET', path: pathOf(request), headers: request.headers })
    const agent = links.get(request.socket)
    // Any error here breaks the connection, which is all that a network can do.
    exchange({ request, response, target, agent, plan, isStopped: () => isStopped }).catch(() => reset(request.socket))
  }
  const server = createServer(listener)
  server.on('connection', (socket) => {
    if (isCut) return reset(socket)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    links.set(socket, agent)
    socket.on('error', () => {})
    socket.once('close', () => {
      links.delete(socket)
      agent.destroy()
    })
  })
  const port = await listenOnLoopback(server)
  const cut = () => {
    isCut = true
    for (const socket of links.keys()) reset(socket)
  }
  const stop = async () => {
    isStopped = true
    cut()
    faults.clear()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  const heal = () => {
    isCut = false
  }
  return {
    url: `http://127.0.0.1:${port}`,
    faults,
    get connections() {
      return links.size
    },
    cut,
    heal,
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?')[0] ?? '/'
}

function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy()
}
