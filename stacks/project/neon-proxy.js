const { createServer } = require('node:http')
const { connect } = require('node:net')
const { neonConfig } = require('@neondatabase/serverless')
const { WebSocketServer, createWebSocketStream } = require('ws')

/** Puts a proxy before the server, as there is one before the databases of Neon. Returns what closes it. */
exports.openNeonProxy = async function openNeonProxy() {
  const http = createServer()
  const proxy = new WebSocketServer({ server: http })
  proxy.on('connection', (socket, { url }) => {
    const { hostname, port } = new URL(`tcp://${new URLSearchParams(url.split('?')[1]).get('address')}`)
    const client = createWebSocketStream(socket)
    const server = connect(Number(port), hostname)
    client.on('error', () => server.destroy()).pipe(server)
    server.on('error', () => client.destroy()).pipe(client)
  })
  await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address()
  neonConfig.wsProxy = (host, target) => `127.0.0.1:${port}/v2?address=${host}:${target}`
  Object.assign(neonConfig, { useSecureWebSocket: false, pipelineConnect: false, pipelineTLS: false })
  return () => {
    for (const socket of proxy.clients) socket.terminate()
    http.close()
  }
}
