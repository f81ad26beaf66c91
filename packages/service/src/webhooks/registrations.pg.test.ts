import { Limits } from '@outlay/core'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import type { WebhookResource } from './registrations.ts'

const { pool } = await serviceDatabase()

const service = testService(testContext({ pool }))
const { token } = await service.signIn()
const most = Limits.webhooksPerAccount

let keys = 0
const register = (accountId: string) => {
  keys += 1
  const body = { url: 'https://acme.example/webhooks' }
  return service.call<WebhookResource & { code: string; detail: string }>(`/accounts/${accountId}/webhooks`, {
    method: 'POST',
    token,
    key: `webhook-${keys}`,
    body,
  })
}
const webhooksOf = async (accountId: string) =>
  (await service.call<{ webhooks: WebhookResource[] }>(`/accounts/${accountId}/webhooks`, { token })).json.webhooks

it('an account has a limited number of webhooks, however many are registered at once', async () => {
  const accountId = await service.createAccount(token)
  const answers = await Promise.all(Array.from({ length: most + 14 }, () => register(accountId)))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(most)
  const refused = answers.filter(({ status }) => status !== 201)
  expect(refused).toHaveLength(14)
  for (const { status, json } of refused) {
    expect([status, json.code]).toEqual([409, 'conflict'])
    expect(json.detail).toBe(
      `The account has ${most} webhooks, which is the limit. Remove one, then send the request with a new key.`,
    )
  }
  expect(await webhooksOf(accountId)).toHaveLength(most)
})

it('a disabled webhook counts, a removed one, one of another account and the endpoint of notices do not', async () => {
  const accountId = await service.createAccount(token)
  const insert = `insert into ${testSchema}.webhook_registration
    (id, account_id, kind, url, event_types, status, secret, created_at, updated_at)
    select $1 || lpad(n::text, 25, '0'), $2, $3::text, 'https://acme.example/', '{}', $4, $5::text, now(), now()
      from generate_series(1, $6) n`
  await inspect(pool).query(insert, ['N', accountId, 'notice', 'active', null, most])
  await inspect(pool).query(insert, ['W', accountId, 'webhook', 'disabled', 'sealed', most - 1])
  expect((await register(accountId)).status).toBe(201)
  expect((await register(accountId)).status).toBe(409)
  expect((await register(await service.createAccount(token))).status).toBe(201)
  const [first] = await webhooksOf(accountId)
  const path = `/accounts/${accountId}/webhooks/subscriptions/${first?.id}`
  expect((await service.call(path, { method: 'DELETE', token })).status).toBe(204)
  expect((await register(accountId)).status).toBe(201)
})
