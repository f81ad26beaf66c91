import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll } from 'vitest'

/** A request to a receiver. */
export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A server of a client, which gets webhooks until the test file ends. */
export interface Receiver {
  readonly base: string
  /** Every request in the order of arrival. */
  readonly received: readonly Received[]
  /** Those to a path. */
  at(path: string): readonly Received[]
}

const accept = (response: ServerResponse): void => {
  response.writeHead(204).end()
}

/** Starts a receiver that answers 204, or otherwise. */
export async function startReceiver(
  answer: (response: ServerResponse, request: Received) => void = accept,
): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { url = '', headers } = request
    const one = { path: url, headers, body: Buffer.concat(chunks).toString() }
    received.push(one)
    answer(response, one)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  afterAll(() => {
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { base: `http://127.0.0.1:${port}`, received, at: (path) => received.filter((one) => one.path === path) }
}
