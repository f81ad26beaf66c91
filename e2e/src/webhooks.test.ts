import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { createCatalog, type WebhookAnswer } from '@outlay/core'
import { httpWebhooks } from '@outlay/http-client'
import type { Sandbox } from '@outlay/service/sandbox'
import { startFaultProxy, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { type Host, openHost } from './host.ts'
import { creates } from './scene.ts'
import { testSite } from './site.ts'
import { type Stage, seedClient, setStage } from './stage.ts'

/** A webhook as the host's server received it. */
interface Received {
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
}

/** A host that learns of its transfers by webhook alone: it would poll them a day later. */
interface Listener extends AsyncDisposable {
  readonly stage: Stage
  readonly host: Host
  /** Webhooks in the order of their arrival. */
  readonly received: readonly Received[]
  /** The route's answer to a webhook: the engine's answer, unless a test intervenes. */
  onWebhook: (webhook: Received, accept: Accept) => Promise<number>
  accept: Accept
  /** How far the host's clock is ahead of the service's, in milliseconds. */
  aheadMs: number
}

type Accept = (webhook: Received) => Promise<WebhookAnswer>

const day = 86_400_000

/** The catalog of a host that trusts webhooks: payouts on Base are polled after a day. */
const catalog = (() => {
  const others = createCatalog()
  const transferType = (name: string) => {
    const found = others.transferType(name)
    return found?.name === 'base' ? { ...found, expectedMs: 4 * day } : found
  }
  return { ...others, transferType }
})()

const standardOnly = ({ body, headers }: Received): Received => {
  const { 'x-request-signature-sha-256': _, ...rest } = headers
  return { body, headers: rest }
}
const digestOnly = ({ body, headers }: Received): Received => {
  const { 'webhook-id': _i, 'webhook-timestamp': _t, 'webhook-signature': _s, ...rest } = headers
  return { body, headers: rest }
}
const schemes = [
  ['the Standard Webhooks headers', standardOnly],
  ['the digest of the body', digestOnly],
] as const
const typeOf = ({ body }: Received): string => (JSON.parse(body.toString()) as { readonly type: string }).type

describe('a host that learns by webhook', async () => {
  const { hosts, sandbox } = await testSite()

  async function listen(serviceUrl = sandbox.url): Promise<Listener> {
    return openListener(sandbox, await hosts.another(), serviceUrl)
  }
  async function payOut({ stage, host }: Listener, count = 1) {
    const payouts = Array.from({ length: count }, () => stage.payout())
    return host.transaction((tx) => host.engine.transfers.enqueueMany(tx, payouts))
  }
  /** Lets the service's time run until the host has settled everything, then proves that it was notified once of each. */
  async function settle({ stage, host }: Listener, count: number) {
    await waitUntil(
      async () => {
        await stage.advance(60)
        const { settled, undelivered } = await host.engine.backlog()
        return settled === count && undelivered === 0
      },
      { timeoutMs: 60_000, describe: () => `${count} transfers to settle` },
    )
    const { rows } = await host.pool.query('select status, polls from outlay.transfer')
    expect(rows).toHaveLength(count)
    expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['complete']))
    const effects = await host.pool.query('select distinct transfer_id from effect')
    expect(effects.rowCount).toBe(count)
    expect((await host.pool.query('select 1 from effect')).rowCount).toBe(count)
    return rows.map(({ polls }) => polls as number)
  }

  it.concurrent.each(schemes)('settles its transfers without a single poll, by %s alone', async (_, strip) => {
    await using listener = await listen()
    const answered = Promise.withResolvers<void>()
    listener.onWebhook = async (webhook, accept) => {
      await answered.promise
      return (await accept(strip(webhook))).status
    }
    await payOut(listener, 5)
    await listener.host.engine.start()
    await waitUntil(async () => (await listener.host.engine.backlog()).submitted === 5)
    answered.resolve()
    expect(new Set(await settle(listener, 5))).toEqual(new Set([0]))
  })

  it.concurrent.each(schemes)('is not changed by repeated and late webhooks, with %s', async (_, strip) => {
    await using listener = await listen()
    const { host, received } = listener
    const accept: Accept = (webhook) => listener.accept(strip(webhook))
    const held: Received[] = []
    listener.onWebhook = async (webhook) => {
      if (typeOf(webhook) !== 'transfer.completed') held.push(webhook)
      else await Promise.all([1, 2, 3].map(() => accept(webhook)))
      return 200
    }
    const [transfer] = await payOut(listener)
    await host.engine.start()
    await waitUntil(async () => (await host.engine.backlog()).submitted === 1)
    await settle(listener, 1)
    await waitUntil(() => held.length === 2)
    for (const late of [...held].reverse()) expect(await accept(late)).toEqual({ status: 200, code: null, changed: 0 })
    for (const again of received) expect(await accept(again)).toMatchObject({ status: 200, changed: 0 })
    expect(await host.engine.transfers.get(transfer?.id ?? '')).toMatchObject({
      stage: 'settled',
      status: 'complete',
    })
    expect(held.map(typeOf).toSorted()).toEqual(['transfer.created', 'transfer.processing'])
  })

  it.concurrent('refuses forgeries, and webhooks of another account', async () => {
    await using listener = await listen()
    const { host, stage, accept, received } = listener
    listener.onWebhook = async () => 500
    const [transfer] = await payOut(listener)
    await host.engine.start()
    await waitUntil(async () => (await host.engine.backlog()).submitted === 1)
    await stage.advance(60)
    const genuine = await waitUntil(() => received.find((webhook) => typeOf(webhook) === 'transfer.completed'))
    const altered = Buffer.from(genuine.body.toString().replace('12.5', '99.5'))
    expect(altered).not.toEqual(genuine.body)
    const later = String(Number(genuine.headers['webhook-timestamp']) + 1)
    const forgeries: readonly Received[] = [
      { ...genuine, body: altered },
      digestOnly({ ...genuine, body: altered }),
      { ...genuine, headers: { ...genuine.headers, 'webhook-timestamp': later } },
      { ...genuine, headers: { ...genuine.headers, 'webhook-signature': 'v1,c2lnbmF0dXJl' } },
      { ...genuine, headers: {} },
    ]
    for (const forgery of forgeries) {
      expect(await accept(forgery)).toEqual({ status: 401, code: 'webhook_signature_invalid', changed: 0 })
    }
    const asAnother = await host.engine.webhook(genuine, { accountId: 'another' })
    expect(asAnother).toEqual({ status: 401, code: 'webhook_signature_invalid', changed: 0 })
    expect(await host.engine.transfers.get(transfer?.id ?? '')).toMatchObject({ stage: 'submitted', status: 'pending' })
    expect(await accept(genuine)).toEqual({ status: 200, code: null, changed: 1 })
  })

  it.concurrent('refuses an old repetition with a timestamp, and is not harmed by one without', async () => {
    await using listener = await listen()
    const { host, accept, received } = listener
    const [transfer] = await payOut(listener)
    await host.engine.start()
    await waitUntil(async () => (await host.engine.backlog()).submitted === 1)
    await settle(listener, 1)
    const completed = await waitUntil(() => received.find((webhook) => typeOf(webhook) === 'transfer.completed'))
    listener.aheadMs = 301_000
    const late = { status: 401, code: 'webhook_timestamp_out_of_tolerance', changed: 0 }
    expect(await accept(standardOnly(completed))).toEqual(late)
    expect(await accept(completed)).toEqual(late)
    expect(await accept(digestOnly(completed))).toEqual({ status: 200, code: null, changed: 0 })
    expect(await host.engine.transfers.get(transfer?.id ?? '')).toMatchObject({ stage: 'settled', status: 'complete' })
  })

  it.concurrent.each(schemes)('ignores a transfer of another system, reported with %s', async (_, strip) => {
    await using listener = await listen()
    const { host, stage, accept, received } = listener
    const { id } = await stage.client.transfers.create(stage.accountId, stage.request())
    await waitUntil(async () => {
      await stage.advance(60)
      return received.some((webhook) => typeOf(webhook) === 'transfer.completed')
    })
    for (const webhook of received) {
      expect(JSON.parse(webhook.body.toString()).data.id).toBe(id)
      expect(await accept(strip(webhook))).toEqual({ status: 200, code: null, changed: 0 })
    }
    expect((await host.pool.query('select 1 from outlay.transfer')).rowCount).toBe(0)
  })

  it.concurrent('loses none that come before the answer to the create', async () => {
    await using proxy = await startFaultProxy({ target: sandbox.url })
    await using listener = await listen(proxy.url)
    const { host, stage, received } = listener
    const answer = proxy.faults.hold({ ...creates, at: 'response' })
    await payOut(listener)
    await host.engine.start()
    await answer.waitFor(1)
    await waitUntil(async () => {
      await stage.advance(60)
      return received.some((webhook) => typeOf(webhook) === 'transfer.completed')
    })
    expect((await host.engine.backlog()).submitting).toBe(1)
    answer.release()
    expect(await settle(listener, 1)).toEqual([1])
  })
})

async function openListener(sandbox: Sandbox, databaseUrl: string, serviceUrl: string): Promise<Listener> {
  const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
  const { accountId, client } = stage
  let secret = ''
  const secrets = (account: string) => (account === accountId ? secret : undefined)
  const host = openHost(stage.settings(databaseUrl, serviceUrl), {
    catalog,
    webhooks: httpWebhooks({ secrets, clock: { now: () => new Date(Date.now() + listener.aheadMs) } }),
    polling: {},
  })
  const received: Received[] = []
  const answering = new Set<Promise<void>>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const webhook = { body: await buffer(request), headers: request.headers }
    received.push(webhook)
    response.writeHead(await listener.onWebhook(webhook, listener.accept)).end()
  }
  const server = createServer((request, response) => {
    const one = answer(request, response).finally(() => answering.delete(one))
    answering.add(one)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  secret = (await client.webhooks.create(accountId, { url, eventTypes: ['transfer.*'] })).secret ?? ''
  const listener: Listener = {
    stage,
    host,
    received,
    aheadMs: 0,
    accept: (webhook) => host.engine.webhook(webhook, { accountId }),
    onWebhook: async (webhook, accept) => (await accept(webhook)).status,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      // The pool of a webhook that is being answered must not end.
      await Promise.allSettled(answering)
      server.closeAllConnections()
      await closed
      await host.close()
      await client.close()
    },
  }
  return listener
}
