import { Limits } from '@outlay/core'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import type { WebhookResource } from './view.ts'

const { pool } = await serviceDatabase()

const service = testService(testContext({ pool }))
const { token } = await service.signIn()
const most = Limits.webhooksPerAccount

let keys = 0
const register = (accountId: string, url?: string) => {
  keys += 1
  const body = { url: url ?? `https://acme.example/webhooks/${keys}` }
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

const url = 'https://acme.example/one'

it('a URL is registered once for an account, however often and however it is spelled', async () => {
  const accountId = await service.createAccount(token)
  const answers = await Promise.all(Array.from({ length: 8 }, () => register(accountId, url)))
  const [created, ...others] = answers.filter(({ status }) => status === 201)
  expect(others).toEqual([])
  const spellings = ['https://ACME.example:443/one', 'https://acme.example/./one#b']
  const more = await Promise.all(spellings.map((spelling) => register(accountId, spelling)))
  for (const { status, json } of [...answers.filter((answer) => answer !== created), ...more]) {
    expect([status, json.code]).toEqual([409, 'conflict'])
    expect(json.detail).toBe(
      `The webhook ${created?.json.id} has this URL. Change that one, or remove it and send the request with a new key.`,
    )
  }
  expect(await webhooksOf(accountId)).toHaveLength(1)
  expect((await register(accountId, `${url}?tenant=2`)).status).toBe(201)
  expect((await register(await service.createAccount(token), url)).status).toBe(201)
})

it('a webhook does not get the URL of another one, and keeps its own', async () => {
  const accountId = await service.createAccount(token)
  const first = await register(accountId, url)
  const second = await register(accountId, `${url}/two`)
  const change = (id: string, to: string) =>
    service.call<{ url: string; code: string }>(`/accounts/${accountId}/webhooks/subscriptions/${id}`, {
      method: 'PATCH',
      token,
      body: { url: to },
    })
  expect((await change(first.json.id, url)).status).toBe(200)
  const refused = await change(second.json.id, url)
  expect([refused.status, refused.json.code]).toEqual([409, 'conflict'])
  const both = await Promise.all([change(first.json.id, `${url}/three`), change(second.json.id, `${url}/three`)])
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
})

it('the endpoint of notices may have the URL of a webhook', async () => {
  const accountId = await service.createAccount(token)
  await inspect(pool).query(
    `insert into ${testSchema}.webhook_registration
       (id, account_id, kind, url, event_types, status, created_at, updated_at)
     values ('N', $1, 'notice', $2, '{}', 'active', now(), now())`,
    [accountId, url],
  )
  expect((await register(accountId, url)).status).toBe(201)
})
