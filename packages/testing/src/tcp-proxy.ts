import { connect, createServer, type Socket } from 'node:net'
import { listenOnLoopback } from './free-port.ts'

/** Options of {@link startTcpProxy}. */
export interface TcpProxyOptions {
  readonly host: string
  readonly port: number
}

/** A TCP proxy that can be cut and slowed down, such as between a program and Postgres. */
export interface TcpProxy {
  readonly host: string
  readonly port: number
  /** Current connections of clients. */
  readonly connections: number
  /** Resets every connection and every new one until `heal`. */
  cut(): void
  /** Holds every byte and every end in both directions, including new connections, until `heal`. Resets nothing. */
  stall(): void
  /** Ends a cut and a stall. What a stall held arrives late, in order. */
  heal(): void
  /** Delays everything by `ms` milliseconds in each direction from now on; 0 ends the delay. */
  delay(ms: number): void
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts a TCP proxy on 127.0.0.1.
 *
 * @example
 * await using proxy = await startTcpProxy(postgres)
 * const slow = new URL(url); slow.port = String(proxy.port)
 */
export async function startTcpProxy(target: TcpProxyOptions): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let clients = 0
  let isCut = false
  let delayMs = 0
  let isStalled = false
  const pumps = new Set<() => void>()
  const track = (socket: Socket, other: Socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.once('close', (hadError) => {
      sockets.delete(socket)
      if (hadError) reset(other)
    })
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (isCut) return reset(client)
    const upstream = connect({ host: target.host, port: target.port, allowHalfOpen: true })
    clients += 1
    client.once('close', () => {
      clients -= 1
    })
    track(client, upstream)
    track(upstream, client)
    const line: Line = { delayMs: () => delayMs, isStalled: () => isStalled }
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      const pump = relay(from, to, line)
      pumps.add(pump)
      from.once('close', () => pumps.delete(pump))
    }
  })
  const port = await listenOnLoopback(server)
  const cut = () => {
    isCut = true
    for (const socket of sockets) reset(socket)
  }
  const stop = async () => {
    cut()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  }
  return {
    host: '127.0.0.1',
    port,
    get connections() {
      return clients
    },
    cut,
    stall: () => {
      isStalled = true
    },
    heal: () => {
      isCut = false
      isStalled = false
      for (const pump of pumps) pump()
    },
    delay: (ms) => {
      delayMs = ms
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** The state between two sockets. */
interface Line {
  delayMs(): number
  isStalled(): boolean
}

/** Passes every piece on in order, after its delay. Returns a function that continues after a stall. */
function relay(from: Socket, to: Socket, { delayMs, isStalled }: Line): () => void {
  const waiting: { readonly dueMs: number; act(): void }[] = []
  const pump = () => {
    if (isStalled()) return
    for (let head = waiting[0]; head !== undefined; head = waiting[0]) {
      const leftMs = head.dueMs - performance.now()
      if (leftMs > 0) {
        setTimeout(pump, leftMs)
        return
      }
      waiting.shift()
      head.act()
    }
  }
  const later = (act: () => void) => {
    const isIdle = waiting.length === 0
    waiting.push({ dueMs: performance.now() + delayMs(), act })
    // Otherwise a timer is set for the head of the queue, or a stall holds it.
    if (isIdle) pump()
  }
  from.on('data', (chunk) => {
    later(() => {
      if (to.destroyed || to.write(chunk)) return
      from.pause()
      to.once('drain', () => from.resume())
    })
  })
  from.on('end', () => later(() => to.end()))
  return pump
}

function reset(socket: Socket): void {
  if (!socket.destroyed) socket.resetAndDestroy()
}
