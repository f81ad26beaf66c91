import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { readObservation, verifyWebhook } from '@outlay/http-client'

/** A server that receives webhooks. */
export interface Inbox extends AsyncDisposable {
  readonly url: string
  /** Ids of the transfers that genuine webhooks reported as complete. */
  readonly completed: ReadonlySet<string>
}

/** Opens an inbox on a free port of 127.0.0.1. Any of the secrets may have signed; more can be added later. */
export async function openInbox(secrets: readonly string[]): Promise<Inbox> {
  const completed = new Set<string>()

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The signature is about the bytes that came, not about what a JSON parser makes of them.
    const body = await buffer(request)
    try {
      const transfer = readObservation(verifyWebhook(body, request.headers, secrets))
      if (transfer?.status === 'complete') completed.add(transfer.remoteId)
      response.writeHead(204).end()
    } catch {
      response.writeHead(401).end()
    }
  }

  const server = createServer(receive)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    completed,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
