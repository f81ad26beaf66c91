import { manualClock } from '@outlay/testing'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { startReceiver } from '../../test/receiver.ts'
import { testContext, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { deliverySchedule } from './delivery-attempt.ts'
import type { DeliveryAttemptRow } from './delivery-store.ts'
import { startWebhookDelivery } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import type { DeliveryResource, WebhookResource } from './view.ts'

const { pool } = await serviceDatabase()
const statuses = [503, 500, 204]
const { base, received } = await startReceiver((response) => response.writeHead(statuses.shift() ?? 204).end())
const context = testContext({ pool, allowPrivateWebhooks: true })
const service = testService(context)
const clock = manualClock(new Date().toISOString())

it('lists every attempt of a delivery with its answer', async () => {
  const [{ token }, stranger] = [await service.signIn(), await service.signIn()]
  const accountId = await service.createAccount(token)
  const path = `/accounts/${accountId}/webhooks`
  const body = { url: `${base}/attempts`, events: ['transfer.created'] }
  await service.call<WebhookResource>(path, { method: 'POST', token, key: 'attempts', body })
  await inTransaction(context, (tx) => recordEvent(tx, context, { accountId, type: 'transfer.created', data: {} }))
  const delivery = startWebhookDelivery(context, { clock, timeoutMs: 30_000 })
  for (const pauseMs of deliverySchedule.slice(0, 3)) {
    clock.advance(pauseMs * 1.2)
    await delivery.drain()
  }
  await delivery.stop()
  const read = async <Body>(rest: string, as = token) => await service.call<Body>(`${path}${rest}`, { token: as })
  const [row] = (await read<{ deliveries: DeliveryResource[] }>('/deliveries')).json.deliveries
  expect(row).toMatchObject({ attempts: 3, attempt_number: 3, last_status: 204, status_code: 204 })
  const { attempts } = (await read<{ attempts: DeliveryAttemptRow[] }>(`/deliveries/${row?.id}/attempts`)).json
  expect(attempts.map((one) => [one.attempt_number, one.status, one.status_code])).toEqual([
    [3, 'delivered', 204],
    [2, 'failed', 500],
    [1, 'failed', 503],
  ])
  expect(attempts[2]?.error).toBe('The endpoint answered 503.')
  const keys = received.map(({ headers }) => headers['idempotency-key'])
  expect([new Set(keys).size, keys.length]).toEqual([1, 3])
  for (const id of ['0', 'x', '9'.repeat(30)]) expect((await read(`/deliveries/${id}/attempts`)).status).toBe(404)
  const other = await service.createAccount(stranger.token)
  const foreign = `/accounts/${other}/webhooks/deliveries/${row?.id}/attempts`
  expect((await service.call(foreign, { token: stranger.token })).status).toBe(404)
})
