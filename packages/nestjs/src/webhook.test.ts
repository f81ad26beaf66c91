import { Controller, HttpCode, type INestApplication, Logger, Module, Param, Post, Req } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { type IncomingWebhook, OutlayError, type WebhookVerifier } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { memoryBackend, type Tx } from '../test/memory-backend.ts'
import { OutlayEngine } from './injection.ts'
import { OutlayModule } from './outlay-module.ts'
import { receiveWebhook, type WebhookRequest } from './webhook.ts'

const received: string[] = []

/** Accepts what has the signature "good", and keeps the octets. */
const webhooks: WebhookVerifier = {
  async verify({ body, headers }: IncomingWebhook) {
    const { signature } = headers as Readonly<Record<string, string>>
    if (signature === 'broken') throw new Error('The vault is away.')
    if (signature !== 'good') throw new OutlayError('webhook_signature_invalid', 'forged')
    received.push(Buffer.from(body as Uint8Array).toString('latin1'))
    return { remoteId: 'remote-1', status: 'complete', failure: null }
  },
}

@Controller('webhooks')
class WebhookController {
  readonly engine: OutlayEngine<Tx>
  constructor(engine: OutlayEngine<Tx>) {
    this.engine = engine
  }

  @Post(':accountId')
  @HttpCode(200)
  receive(@Req() request: WebhookRequest, @Param('accountId') accountId: string): Promise<void> {
    return receiveWebhook(this.engine, request, { accountId })
  }
}

class AppModule {}
Module({
  imports: [OutlayModule.forRoot({ backend: memoryBackend(), gateway: memoryGateway(), webhooks, work: false })],
  controllers: [WebhookController],
})(AppModule)

type Create = (rawBody: boolean) => Promise<INestApplication>
const quiet = { logger: false, abortOnError: false } as const
const servers: Readonly<Record<string, Create>> = {
  Express: (rawBody) => NestFactory.create(AppModule, { ...quiet, rawBody }),
  Fastify: (rawBody) => NestFactory.create(AppModule, new FastifyAdapter(), { ...quiet, rawBody }),
}

describe.each(Object.entries(servers))('on %s', (name, create) => {
  const apps: INestApplication[] = []
  const open = async (rawBody: boolean) => {
    const app = await create(rawBody)
    apps.push(app)
    await app.listen(0, '127.0.0.1')
    return app.getUrl()
  }
  let url: string
  beforeAll(async () => {
    url = await open(true)
  })
  afterAll(() => Promise.all(apps.map((app) => app.close())))

  const post = (body: string, headers: Readonly<Record<string, string>> = {}, account = 'acme', to = url) =>
    fetch(`${to}/webhooks/${account}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', signature: 'good', ...headers },
      body: Buffer.from(body, 'latin1'),
    })

  it('a webhook is verified by its octets, as they arrived', async () => {
    const body = '{ "a" : 1.00,  "b": "\\u00fc" }'
    const answer = await post(body)
    expect(answer.status).toBe(200)
    expect(await answer.text()).toBe('')
    expect(received.at(-1)).toBe(body)
  })

  it('a forged one is answered with 401, and no reason', async () => {
    const answer = await post('{}', { signature: 'bad' })
    expect(answer.status).toBe(401)
    expect(await answer.text()).not.toMatch(/signature|forged/)
    // Fastify refuses an empty body of JSON by itself.
    expect([400, 401]).toContain((await post('', { signature: 'bad' })).status)
  })

  it('one to what is no account is answered with 404', async () => {
    expect((await post('{}', {}, '%00')).status).toBe(404)
  })

  it('what the vault throws is answered with 500, so that it comes again', async () => {
    expect((await post('{}', { signature: 'broken' })).status).toBe(500)
  })

  it('a body that no parser has read is answered with 415, and the log says once what to do', async () => {
    const warn = vi.fn()
    const log = { log: vi.fn(), error: vi.fn(), warn, debug: vi.fn() }
    Logger.overrideLogger(log)
    onTestFinished(() => Logger.overrideLogger(false))
    for (const type of ['application/vnd.bank+json', 'application/octet-stream'])
      expect((await post('{}', { 'content-type': type })).status).toBe(415)
    // Fastify refuses it by itself.
    if (name === 'Express')
      expect(warn.mock.calls).toEqual([[expect.stringContaining('useBodyParser'), 'Outlay webhooks']])
    expect(received).not.toContain('')
  })

  it('an application that keeps no octets answers 500, and does not take the webhook for a forged one', async () => {
    const other = await open(false)
    expect((await post('{}', {}, 'acme', other)).status).toBe(500)
  })
})

it.each([
  [{ 'content-type': 'text/plain', 'content-length': '2' }, 415],
  [{ 'transfer-encoding': 'chunked' }, 415],
])('a body with %j that was not read is refused as such, not as a forged one', async (headers, status) => {
  const engine = { webhook: () => Promise.reject(new Error('not called')) }
  await expect(receiveWebhook(engine, { headers }, { accountId: 'acme' })).rejects.toMatchObject({ status })
})

it('the error of an application that keeps no octets says what to do', async () => {
  const request = { headers: { 'content-type': 'application/json', 'content-length': '2' } }
  const engine = { webhook: () => Promise.reject(new Error('not called')) }
  await expect(receiveWebhook(engine, request, { accountId: 'acme' })).rejects.toThrow('{ rawBody: true }')
})
