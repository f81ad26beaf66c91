import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** What becomes of what a proxy is sent: everything passes, answers are kept back, or new connections are closed at once. */
type Mode = 'passes' | 'keeps answers' | 'closes'

/** A proxy before Postgres that can fail as those of real networks do. */
export interface TcpProxy {
  /** The connection string through it. */
  readonly url: string
  mode: Mode
  /** How many connections it was asked for. */
  readonly connections: number
  /** Sends a FIN on every connection. */
  end(): void
  close(): Promise<void>
}

/** Puts a proxy before a server; `greet` may take over a new connection first. */
export async function openTcpProxy(url: string, greet?: (client: Socket) => Promise<Socket>): Promise<TcpProxy> {
  const { hostname, port } = new URL(url)
  const clients = new Set<Socket>()
  const proxy = { mode: 'passes' as Mode, connections: 0 }
  const server = createServer(async (client) => {
    proxy.connections += 1
    clients.add(client.on('error', () => undefined).on('close', () => clients.delete(client)))
    if (proxy.mode === 'closes') return void client.once('data', () => client.end())
    const inner = greet === undefined ? client : await greet(client)
    const upstream = connect(Number(port), hostname).on('error', () => undefined)
    inner.on('close', () => upstream.destroy()).pipe(upstream)
    upstream.on('data', (chunk) => proxy.mode === 'keeps answers' || inner.write(chunk)).on('close', () => inner.end())
  })
  await listenOn(server)
  const through = new URL(url)
  through.port = String((server.address() as AddressInfo).port)
  return Object.assign(proxy, {
    url: through.href,
    end() {
      for (const client of clients) client.end()
    },
    async close() {
      for (const client of clients) client.destroy()
      server.close()
      await once(server, 'close')
    },
  })
}

async function listenOn(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
}
