import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { startReceiver } from '../../test/receiver.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { beginAs } from '../database/tenant.ts'
import { startWebhookDelivery } from './delivery-worker.ts'
import { recordEvent } from './events.ts'
import type { WebhookResource } from './view.ts'

const { pool, open } = await serviceDatabase()
const canceling = open(1)

const { base, received, at } = await startReceiver((response, { path }) =>
  response.writeHead(path.startsWith('/gone') ? 410 : 204).end(),
)

it('endpoints that are gone keep nothing from the others of their client while the webhook of another client is disabled', async () => {
  const context = testContext({ pool, allowPrivateWebhooks: true })
  const service = testService(context)
  const [one, other] = [await service.signIn(), await service.signIn()]
  const [account, otherAccount] = [await service.createAccount(one.token), await service.createAccount(other.token)]
  const register = async (token: string, accountId: string, path: string) => {
    const call = { method: 'POST', token, key: path, body: { url: base + path } }
    return (await service.call<WebhookResource>(`/accounts/${accountId}/webhooks`, call)).json
  }
  const record = (accountId: string) =>
    inTransaction(context, (tx) => recordEvent(tx, context, { accountId, type: 'transfer.created', data: {} }))
  const long = await register(other.token, otherAccount, '/gone-long')
  await record(otherAccount)
  // Stands for a long backlog that is canceled: whoever disables this webhook takes long.
  const holder = await canceling.connect()
  await holder.query(beginAs('system'))
  await holder.query(`select 1 from ${testSchema}.webhook_registration where id = $1 for update`, [long.id])
  const delivery = startWebhookDelivery(context, { clock: { now: () => new Date() }, concurrency: 16 })
  try {
    await waitUntil(() => at('/gone-long').length === 1)
    for (const path of ['/gone-1', '/gone-2']) await register(one.token, account, path)
    for (let count = 0; count < 40; count += 1) await record(account)
    await waitUntil(() => at('/gone-1').length > 0 && at('/gone-2').length > 0)
    await register(one.token, account, '/well')
    await record(account)
    await waitUntil(() => at('/well').length === 1, {
      timeoutMs: 15_000,
      describe: () => `the endpoint that is well; there were ${received.map(({ path }) => path)}`,
    })
  } finally {
    await holder.query('rollback')
    holder.release()
    await delivery.drain()
    await delivery.stop()
  }
  expect(at('/well')).toHaveLength(1)
})
