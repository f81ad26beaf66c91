import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Exchange } from '@outlay/judge'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { digest, type RecordingProxy, startRecordingProxy } from './proxy.ts'

let target: Server
let act: RequestListener
let proxy: RecordingProxy
let recorded: Exchange[]
let wake: () => void

/** Waits until so many exchanges are written down. */
async function recordings(count: number): Promise<readonly Exchange[]> {
  while (recorded.length < count) await new Promise<void>((resolve) => (wake = resolve))
  return recorded
}

beforeEach(async () => {
  recorded = []
  wake = () => undefined
  target = createServer((request, response) => act(request, response))
  target.listen(0, '127.0.0.1')
  await once(target, 'listening')
  proxy = await startRecordingProxy(`http://127.0.0.1:${(target.address() as AddressInfo).port}`, (exchange) => {
    recorded.push(exchange)
    wake()
  })
})

afterEach(async () => {
  await proxy.stop()
  target.closeAllConnections()
  target.close()
})

it('passes a request and its answer on as they are, and writes both down', async () => {
  act = async (request, response) => {
    const body = await text(request)
    response.writeHead(201, { 'retry-after': '7', 'x-own': 'kept' }).end(`${request.method} ${request.url} ${body}`)
  }
  const headers = { 'idempotency-key': 'key-1', authorization: 'Bearer secret-token' }
  const answer = await fetch(`${proxy.url}/accounts/a/transfers?b=1`, { method: 'POST', headers, body: 'asked' })
  expect(answer.headers.get('x-own')).toBe('kept')
  expect(await answer.text()).toBe('POST /accounts/a/transfers?b=1 asked')
  const [exchange] = await recordings(1)
  expect(exchange).toMatchObject({
    method: 'POST',
    path: '/accounts/a/transfers?b=1',
    key: 'key-1',
    body: 'asked',
    status: 201,
    retryAfter: '7',
    answer: 'POST /accounts/a/transfers?b=1 asked',
    end: 'answered',
  })
  expect(JSON.stringify(exchange)).not.toContain('secret-token')
})

it('knows the client of a request from the grant of its token, and keeps no secret', async () => {
  act = (request, response) => {
    request.resume()
    response.end(request.url === '/oauth2/token' ? '{"access_token":"token-1"}' : '{}')
  }
  const basic = Buffer.from('client%201:the-secret').toString('base64')
  await fetch(`${proxy.url}/oauth2/token`, { method: 'POST', headers: { authorization: `Basic ${basic}` }, body: 'x' })
  await fetch(`${proxy.url}/accounts/a`, { headers: { authorization: 'Bearer token-1' } })
  const exchanges = await recordings(2)
  expect(exchanges.map(({ client }) => client)).toEqual([digest('client 1'), digest('client 1')])
  expect(JSON.stringify(exchanges)).not.toMatch(/token-1|the-secret/)
})

it('leaves no listener behind on a connection that is kept', async () => {
  act = (request, response) => {
    request.resume()
    response.end('{}')
  }
  const warnings: string[] = []
  const onWarning = ({ name }: Error) => void warnings.push(name)
  process.on('warning', onWarning)
  for (let count = 0; count < 30; count += 1) await (await fetch(proxy.url)).text()
  await recordings(30)
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
})

it('breaks the connection of the client when the service breaks its own, and says that there was no answer', async () => {
  act = (request) => void request.socket.resetAndDestroy()
  await expect(fetch(`${proxy.url}/transfers`, { method: 'POST', body: 'x' })).rejects.toThrow()
  expect(await recordings(1)).toMatchObject([{ end: 'unanswered', body: 'x' }])
})

it('says that half an answer is none', async () => {
  act = (request, response) => {
    request.resume()
    response.writeHead(201, { 'content-length': '100' })
    response.write('half', () => request.socket.resetAndDestroy())
  }
  await expect(
    fetch(`${proxy.url}/transfers`, { method: 'POST', body: 'x' }).then((got) => got.text()),
  ).rejects.toThrow()
  expect(await recordings(1)).toMatchObject([{ end: 'unanswered', status: 201 }])
})

it('says that nothing was sent where the service cannot be reached', async () => {
  target.close()
  await once(target, 'close')
  await expect(fetch(proxy.url)).rejects.toThrow()
  expect(await recordings(1)).toMatchObject([{ end: 'unsent' }])
})

it('lets the service know that a client has gone, and says that it had no answer', async () => {
  let gone: () => void = () => undefined
  const isGone = new Promise<void>((resolve) => (gone = resolve))
  let arrived: () => void = () => undefined
  const hasArrived = new Promise<void>((resolve) => (arrived = resolve))
  act = (request) => {
    request.socket.once('close', () => gone())
    arrived()
  }
  const client = connect(Number(new URL(proxy.url).port), '127.0.0.1')
  client.write('POST /transfers HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx')
  await hasArrived
  client.destroy()
  await isGone
  expect(await recordings(1)).toMatchObject([{ end: 'unanswered' }])
})
