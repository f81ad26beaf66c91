import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request as open, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Exchange } from '@outlay/judge'

/** An HTTP proxy on 127.0.0.1 that passes everything on as it streams, and writes down each exchange. */
export interface RecordingProxy {
  readonly url: string
  stop(): Promise<void>
}

/** What a client is called in a history. */
export const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/** Longest answer to a read that is kept, in bytes. Whole pages of lists are not: there are many, and they say little. */
const longestRead = 4_096

/** Headers that concern one connection only. */
const hopByHop = ['connection', 'keep-alive', 'proxy-connection', 'expect', 'upgrade']

/** Starts a proxy between an engine and a service. What breaks on one side breaks the connection on the other. */
export async function startRecordingProxy(
  target: string,
  record: (exchange: Exchange) => void,
): Promise<RecordingProxy> {
  const { hostname, port } = new URL(target)
  const links = new Map<Socket, Agent>()
  // Clients by the digest of their tokens, learnt when the token is granted. Neither token nor secret is kept.
  const clients = new Map<string, string>()
  const server = createServer((request, response) => {
    const seen = begin(request, clients, record)
    const agent = links.get(request.socket)
    const upstream = open({
      hostname,
      port,
      agent,
      method: request.method,
      path: request.url,
      headers: copyHeaders(request),
    })
    let isConnected = false
    upstream.once('socket', (socket) => {
      isConnected = !socket.connecting
      if (!isConnected) socket.once('connect', () => (isConnected = true))
    })
    const fail = () => {
      seen.end(isConnected ? 'unanswered' : 'unsent')
      if (!request.socket.destroyed) request.socket.resetAndDestroy()
    }
    request.on('data', (chunk: Buffer) => void seen.asked.push(chunk))
    request.pipe(upstream)
    upstream.on('error', fail)
    upstream.on('response', (answer) => passOn(answer, response, seen, fail))
    // A client that leaves before the answer is complete does not know it, and neither side continues.
    response.on('close', () => {
      if (response.writableFinished) return
      fail()
      upstream.destroy()
    })
  })
  server.on('connection', (socket) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    links.set(socket, agent)
    socket.setNoDelay(true).on('error', () => undefined)
    socket.once('close', () => {
      links.delete(socket)
      agent.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function passOn(answer: IncomingMessage, response: ServerResponse, seen: Seen, fail: () => void): void {
  seen.answer = answer
  response.sendDate = false
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, copyHeaders(answer))
  answer.on('data', (chunk: Buffer) => void seen.answered.push(chunk))
  answer.on('error', fail)
  answer.on('aborted', fail)
  answer.pipe(response)
  response.on('finish', () => seen.end('answered'))
}

/** What was seen of an exchange so far. `end` writes it down, once. */
interface Seen {
  readonly asked: Buffer[]
  readonly answered: Buffer[]
  answer: IncomingMessage | undefined
  end(how: Exchange['end']): void
}

function begin(request: IncomingMessage, clients: Map<string, string>, record: (exchange: Exchange) => void): Seen {
  const at = Date.now()
  const { method = '', url: path = '', headers } = request
  const { authorization = '', 'idempotency-key': key } = headers
  const text = (chunks: readonly Buffer[]) => Buffer.concat(chunks).toString('utf8')
  let isOver = false
  const seen: Seen = {
    asked: [],
    answered: [],
    answer: undefined,
    end(how) {
      if (isOver) return
      isOver = true
      const { statusCode: status, headers: { 'retry-after': retryAfter } = {} } = seen.answer ?? {}
      const [body, answer] = [text(seen.asked), text(seen.answered)]
      const isGrant = path.endsWith('/oauth2/token')
      const client = isGrant
        ? clientOf(authorization, body)
        : clients.get(digest(authorization.slice('Bearer '.length)))
      if (isGrant && client !== undefined) learn(clients, answer, client)
      const isKept = how === 'answered' && !isGrant && (method !== 'GET' || answer.length <= longestRead)
      record({
        ...{ at, doneAt: Date.now(), method, path, end: how },
        ...(typeof key === 'string' ? { key } : {}),
        ...(client === undefined ? {} : { client }),
        ...(body === '' || isGrant ? {} : { body }),
        ...(status === undefined ? {} : { status }),
        ...(retryAfter === undefined ? {} : { retryAfter }),
        ...(isKept ? { answer } : {}),
      })
    },
  }
  return seen
}

/** Specification, "Authentication": client_credentials, by Basic or in the form. */
function clientOf(authorization: string, body: string): string | undefined {
  const [, encoded] = /^Basic (.+)$/.exec(authorization) ?? []
  const basic = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8').split(':')[0]
  const id = basic === undefined ? new URLSearchParams(body).get('client_id') : decodeURIComponent(basic)
  return id === null ? undefined : digest(id)
}

function learn(clients: Map<string, string>, answer: string, client: string): void {
  const token = /"access_token"\s*:\s*"([^"]+)"/.exec(answer)?.[1]
  if (token !== undefined) clients.set(digest(token), client)
}

const copyHeaders = (message: IncomingMessage): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(message.headersDistinct).flatMap(([name, values = []]) =>
      hopByHop.includes(name) ? [] : [[name, values.length === 1 ? (values[0] ?? '') : values]],
    ),
  )
