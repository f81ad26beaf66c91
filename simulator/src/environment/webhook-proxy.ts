import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Step } from '../plan/plan.ts'

/** A webhook on its way to an engine. */
export interface WebhookRequest {
  readonly accountId: string
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
}

type Mischief = Extract<Step, { readonly do: 'webhooks' }>['mischief']

/** Receives webhooks from the service, disturbs them, and forwards them to their readers. */
export interface WebhookProxy {
  /** Where the service sends the webhooks of an account. */
  urlOf(accountId: string): string
  mischief: Mischief
  /** Receives one webhook; answers with the status for the service. */
  reader: (webhook: WebhookRequest) => Promise<number>
  /** Hands out what was kept back, the newest first. */
  handOutLate(): Promise<void>
  stop(): Promise<void>
}

/** Starts a webhook proxy on 127.0.0.1. */
export async function startWebhookProxy(): Promise<WebhookProxy> {
  const late: WebhookRequest[] = []
  const nobody: WebhookProxy['reader'] = async () => 503
  const server = createServer(async (request, response) => {
    const accountId = request.url?.slice(1) ?? ''
    const webhook = { accountId, body: await buffer(request), headers: request.headers }
    response.writeHead(await take(webhook).catch(() => 500)).end()
  })
  const take = async (webhook: WebhookRequest): Promise<number> => {
    switch (webhookProxy.mischief) {
      case 'lost':
        return 500
      case 'late':
        late.push(webhook)
        return 200
      case 'twice':
        await webhookProxy.reader(webhook)
        return webhookProxy.reader(webhook)
      case 'forged':
        await webhookProxy.reader(forge(webhook))
        return webhookProxy.reader(webhook)
      case 'none':
        return webhookProxy.reader(webhook)
    }
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const webhookProxy: WebhookProxy = {
    urlOf: (accountId) => `http://127.0.0.1:${port}/${accountId}`,
    mischief: 'none',
    reader: nobody,
    async handOutLate() {
      for (let webhook = late.pop(); webhook !== undefined; webhook = late.pop())
        await webhookProxy.reader(webhook).catch(() => 500)
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return webhookProxy
}

/** The same webhook with another ending, under the old signature. */
function forge(webhook: WebhookRequest): WebhookRequest {
  const text = webhook.body.toString('utf8')
  const failure = '"failure":{"type":"forged","code":"forged","detail":"forged","retriable":false}'
  const body = text
    .replaceAll(/transfer\.(created|processing|completed)/g, 'transfer.failed')
    .replace(/"status":"(pending|processing|complete)"/, `"status":"failed",${failure}`)
  return { ...webhook, body: Buffer.from(body) }
}
