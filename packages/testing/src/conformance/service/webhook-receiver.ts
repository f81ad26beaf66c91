import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { waitUntil } from '../../harness.ts'

/** One webhook that arrived. */
export interface ReceivedWebhook {
  readonly headers: IncomingHttpHeaders
  /** The raw body. */
  readonly body: string
}

/** A server on loopback that receives webhooks. */
export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string
  readonly received: readonly ReceivedWebhook[]
  /** The first webhook, past or future, whose body matches. */
  waitFor(fits: (body: Readonly<Record<string, unknown>>) => boolean): Promise<ReceivedWebhook>
}

/** Starts to receive, with a time limit for waits. Answers every webhook with 204. */
export async function startWebhookReceiver(timeoutMs = 20_000): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    received.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') })
    response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    received,
    waitFor: (fits) =>
      waitUntil(() => received.find(({ body }) => fits(JSON.parse(body) as Record<string, unknown>)), {
        timeoutMs,
        describe: () => `a webhook; there came ${JSON.stringify(received.map(({ body }) => body))}`,
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** True when one of the Standard Webhooks signatures of a delivery is made with the secret. */
export function isSignedWith(secret: string, { headers, body }: ReceivedWebhook): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const wanted = createHmac('sha256', key).update(content).digest()
  return String(headers['webhook-signature'])
    .split(' ')
    .some((signature) => {
      const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
      return given.length === wanted.length && timingSafeEqual(given, wanted)
    })
}
