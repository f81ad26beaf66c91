import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A request as the server got it. */
export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** One step of a script: writes the answer, or breaks the connection. */
export type Step = (response: ServerResponse, request: ReceivedRequest) => void

/** An HTTP server that answers by script: API requests in order, the last step again and again. */
export interface ScriptedServer {
  readonly url: string
  /** API requests so far, without requests for tokens. */
  readonly requests: ReceivedRequest[]
  readonly tokenRequests: ReceivedRequest[]
  /** Replaces the script of the API. */
  script(...steps: Step[]): void
  /** Replaces the script of the token endpoint, which grants `token-1`, `token-2` … by default. */
  scriptTokens(...steps: Step[]): void
  close(): Promise<void>
}

/** An answer; a body other than text is sent as JSON. */
export const answer =
  (status: number, body: unknown = '', headers: Readonly<Record<string, string>> = {}): Step =>
  (response) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text)
  }

/** Breaks the connection before a byte of the answer. */
export const reset: Step = (response) => {
  response.socket?.destroy()
}

/** Sends headers and a part of the body, then breaks the connection. */
export const resetMidBody =
  (status: number): Step =>
  (response) => {
    response.writeHead(status, { 'content-length': '1000' })
    response.write('{"id": "tr', () => response.socket?.destroy())
  }

/** Never answers. */
export const silence: Step = () => {}

/** Sends the headers and then nothing. */
export const silenceMidBody: Step = (response) => {
  response.writeHead(201, { 'content-length': '1000' })
  response.write('{"id": "tr')
}

const grantTokens = (): Step => {
  let count = 0
  return (response, request) => {
    count += 1
    answer(200, { access_token: `token-${count}`, token_type: 'bearer', expires_in: 3600 })(response, request)
  }
}

const listen = (server: Server): Promise<AddressInfo> =>
  new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address() as AddressInfo)))

/** Starts a scripted server on a free port of the loopback interface. */
export async function startServer(): Promise<ScriptedServer> {
  const requests: ReceivedRequest[] = []
  const tokenRequests: ReceivedRequest[] = []
  let steps: Step[] = [answer(200, {})]
  let tokenSteps: Step[] = [grantTokens()]
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming
      const request = { method, url, headers, body: Buffer.concat(chunks).toString() }
      const isToken = url.endsWith('/oauth2/token')
      const script = isToken ? tokenSteps : steps
      ;(isToken ? tokenRequests : requests).push(request)
      const step = script.length > 1 ? script.shift() : script[0]
      step?.(response, request)
    })
  })
  const { port } = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    tokenRequests,
    script: (...next) => {
      steps = next
    },
    scriptTokens: (...next) => {
      tokenSteps = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
