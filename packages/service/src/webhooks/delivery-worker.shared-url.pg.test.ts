import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { startReceiver } from '../../test/receiver.ts'
import { testContext, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { startWebhookDelivery } from './delivery-worker.ts'
import { recordEvent } from './events.ts'

const { pool } = await serviceDatabase()
const held: ServerResponse[] = []
const { base, received } = await startReceiver((response, { body }) => {
  if (body.includes('backlog')) held.push(response)
  else response.writeHead(204).end()
})
const context = testContext({ pool, allowPrivateWebhooks: true })
const service = testService(context)

/** A client with a webhook at the URL that all of them name, and `count` events. */
async function subscribe(name: string, count: number): Promise<void> {
  const { token } = await service.signIn()
  const accountId = await service.createAccount(token)
  const body = { url: `${base}/shared` }
  await service.call(`/accounts/${accountId}/webhooks`, { method: 'POST', token, key: 'webhook', body })
  await inTransaction(context, async (tx) => {
    for (let at = 0; at < count; at += 1)
      await recordEvent(tx, context, { accountId, type: 'transfer.created', data: { name, at } })
  })
}

it('a backlog of one client at a URL keeps nothing of another client from the same URL', async () => {
  await subscribe('backlog', 600)
  await subscribe('owner of the url', 1)
  const delivery = startWebhookDelivery(context, { timeoutMs: 100_000 })
  const isReceived = () => received.some(({ body }) => body.includes('owner of the url'))
  await expect.poll(isReceived, { timeout: 60_000 }).toBe(true)
  expect(held.length).toBeLessThanOrEqual(64)
  const stopped = delivery.stop()
  for (const response of held) response.writeHead(204).end()
  await stopped
}, 120_000)
