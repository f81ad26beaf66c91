import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listenOnLoopback } from './free-port.ts'
import { waitUntil } from './harness.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

let echo: Server
let proxy: TcpProxy

beforeEach(async () => {
  echo = createServer((socket) => {
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  proxy = await startTcpProxy({ host: '127.0.0.1', port: await listenOnLoopback(echo) })
})

afterEach(async () => {
  await proxy.stop()
  await new Promise((resolve) => echo.close(resolve))
})

const dial = (): Socket => connect({ host: proxy.host, port: proxy.port })

test('bytes pass in order and ends pass too', async () => {
  const socket = dial()
  const sent = Buffer.from(Array.from({ length: 2_000_000 }, (_, at) => at % 251))
  const echoed = buffer(socket)
  socket.end(sent)
  expect((await echoed).equals(sent)).toBe(true)
  await waitUntil(() => proxy.connections === 0)
})

test('a delay holds in each direction and keeps the order', async () => {
  proxy.delay(30)
  const socket = dial()
  const began = performance.now()
  const echoed = buffer(socket)
  for (let at = 0; at < 50; at++) socket.write(`${at},`)
  socket.end()
  expect((await echoed).toString()).toBe(Array.from({ length: 50 }, (_, at) => `${at},`).join(''))
  expect(performance.now() - began).toBeGreaterThanOrEqual(59)
})

test('a cut resets open and new connections until it heals', async () => {
  const socket = dial()
  socket.write('x')
  await once(socket, 'data')
  expect(proxy.connections).toBe(1)
  const lost = failure(socket)
  proxy.cut()
  expect(await lost).toMatchObject({ code: 'ECONNRESET' })
  expect(await failure(dial())).toMatchObject({ code: 'ECONNRESET' })
  proxy.heal()
  const healed = dial()
  healed.end('back')
  expect((await buffer(healed)).toString()).toBe('back')
})

test('a stall holds all bytes, on new connections too, and they arrive in order', async () => {
  const open = dial()
  open.write('a')
  await once(open, 'data')
  proxy.stall()
  const received = buffer(open)
  open.end('b')
  const late = dial()
  const receivedLate = buffer(late)
  late.end('c')
  await waitUntil(() => proxy.connections === 2)
  expect(open.bytesRead).toBe(1)
  expect(late.bytesRead).toBe(0)
  proxy.heal()
  expect((await received).toString()).toBe('b')
  expect((await receivedLate).toString()).toBe('c')
})

test('a target that cannot be reached resets the client', async () => {
  await using nowhere = await startTcpProxy({ host: '127.0.0.1', port: await closedPort() })
  const socket = connect({ host: nowhere.host, port: nowhere.port })
  expect(await failure(socket)).toMatchObject({ code: 'ECONNRESET' })
})

const failure = (socket: Socket) => new Promise<unknown>((resolve) => socket.once('error', resolve))

async function closedPort(): Promise<number> {
  const server = createServer()
  const port = await listenOnLoopback(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}
