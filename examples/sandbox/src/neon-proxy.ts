import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { neonConfig } from '@neondatabase/serverless'
import { createWebSocketStream, WebSocketServer } from 'ws'

/**
 * Puts a proxy from WebSockets before a database of this machine, as there is one before each of Neon's, and lets Neon's driver use it. A
 * host on Neon needs none of this.
 */
export async function openNeonProxy(databaseUrl: string): Promise<AsyncDisposable> {
  const { hostname, port } = new URL(databaseUrl)
  const http = createServer().listen(0, '127.0.0.1')
  await once(http, 'listening')
  const sockets = new WebSocketServer({ server: http })
  sockets.on('connection', (socket) => {
    const client = createWebSocketStream(socket)
    const server = connect(Number(port), hostname)
    client.on('error', () => server.destroy()).pipe(server)
    server.on('error', () => client.destroy()).pipe(client)
  })
  neonConfig.wsProxy = () => `127.0.0.1:${(http.address() as AddressInfo).port}/v2`
  // The database has no certificate, and asks for the password in a round trip of its own.
  neonConfig.useSecureWebSocket = false
  neonConfig.pipelineTLS = false
  neonConfig.pipelineConnect = false
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets.clients) socket.terminate()
      const closed = once(http, 'close')
      http.close()
      await closed
    },
  }
}
