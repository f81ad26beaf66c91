import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { testContext, testService } from '../../test/service.ts'
import { balancesRoutes } from '../balances/routes.ts'
import { docsRoutes } from './docs-routes.ts'

const { pool } = await serviceDatabase()

const context = testContext({ pool })
const service = testService(context, [balancesRoutes, docsRoutes])
const { token } = await service.signIn()
const accountId = await service.createAccount(token)

// The test client checks each answer against the document. No other test requests these.
it('answers as documented where no other test checks', async () => {
  const { addresses } = (await service.call<{ addresses: { id: string }[] }>('/addresses', { token })).json
  const paths = [`/addresses/${addresses[0]?.id}`, '/balances', `/accounts/${accountId}/webhooks/event_types`]
  for (const path of paths) expect((await service.call(path, { token })).status, path).toBe(200)
  expect((await service.call('/openapi.json')).json['openapi']).toBe('3.1.0')
  const revoke = (body: string, headers: Readonly<Record<string, string>> = {}) =>
    service.call('/oauth2/revoke', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
  expect((await revoke('token=a&token=b')).status).toBe(400)
  expect((await revoke('token=a&client_id=b&client_secret=c')).status).toBe(401)
})

it('refuses a body of another shape as documented, keeps the refusal, and never starts the effect', async () => {
  const path = `/accounts/${accountId}/addresses/external`
  const body = { name: 5, address: '0x1', transfer_types: 'base' }
  const refused = await service.call(path, { method: 'POST', token, key: 'shape', body })
  expect(refused.status).toBe(422)
  expect(refused.json['errors']).toMatchObject([
    { code: 'invalid_request', source: { pointer: '/name' } },
    { code: 'invalid_request', source: { pointer: '/transfer_types' } },
  ])
  const again = await service.call(path, { method: 'POST', token, key: 'shape', body })
  expect(again.text).toBe(refused.text)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
})
