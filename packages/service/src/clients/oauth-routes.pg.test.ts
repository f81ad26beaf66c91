import { manualClock } from '@outlay/testing'
import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { inspect } from '../../test/inspection.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { inTransaction } from '../context.ts'
import { rotateClientSecret } from './clients.ts'

const { pool } = await serviceDatabase()

const clock = manualClock()
const service = testService(testContext({ pool, clock }))

const post = (path: string, form: Record<string, string>, headers: Record<string, string> = {}) =>
  service.call(path, {
    method: 'POST',
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
const grant = { grant_type: 'client_credentials' }

it('issues a bearer token of an hour for HTTP Basic and for body credentials', async () => {
  const { clientId, clientSecret } = await service.signIn()
  const viaBasic = await post('/oauth2/token', grant, { authorization: basic(clientId, clientSecret) })
  expect(viaBasic.status).toBe(200)
  expect(viaBasic.json).toMatchObject({ token_type: 'bearer', expires_in: 3600 })
  expect(viaBasic.headers.get('cache-control')).toBe('no-store')
  const viaBody = await post('/oauth2/token', {
    ...grant,
    client_id: clientId,
    client_secret: clientSecret,
    scope: 'accounts:read transfers:read',
  })
  expect(viaBody.json['scope']).toBe('accounts:read transfers:read')
  const accounts = await service.call('/accounts', { token: String(viaBody.json['access_token']) })
  expect(accounts.json).toEqual({ accounts: [] })
})

it('answers the errors of RFC 6749', async () => {
  const { clientId, clientSecret } = await service.signIn({ scopes: ['accounts:read'] })
  const authorization = basic(clientId, clientSecret)
  const wrong = await post('/oauth2/token', grant, { authorization: basic(clientId, 'guess') })
  expect([wrong.status, wrong.json['error']]).toEqual([401, 'invalid_client'])
  expect(wrong.headers.get('www-authenticate')).toMatch(/^Basic/)
  const cases = [
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
    [{}, 'invalid_request'],
    [{ ...grant, scope: 'accounts:write' }, 'invalid_scope'],
    [{ ...grant, scope: 'nonsense' }, 'invalid_scope'],
  ] as const
  for (const [form, error] of cases) {
    const answer = await post('/oauth2/token', form, { authorization })
    expect([answer.status, answer.json['error']]).toEqual([400, error])
  }
})

it('stores neither secrets nor tokens in plain text', async () => {
  const { clientSecret, token } = await service.signIn()
  const { rows } = await inspect(pool).query(
    `select (select json_agg(s) from ${testSchema}.client_secret s)::text
         || (select json_agg(t) from ${testSchema}.access_token t)::text as text`,
  )
  expect(rows[0].text).not.toContain(clientSecret)
  expect(rows[0].text).not.toContain(token)
})

it('refuses a token that is missing, unknown, expired or revoked', async () => {
  const { clientId, clientSecret, token } = await service.signIn()
  expect((await service.call('/accounts', { token })).status).toBe(200)
  const missing = await service.call('/accounts')
  expect(missing.status).toBe(401)
  expect(missing.headers.get('www-authenticate')).toMatch(/^Bearer/)
  expect((await service.call('/accounts', { token: 'unknown' })).status).toBe(401)
  const authorization = basic(clientId, clientSecret)
  expect((await post('/oauth2/revoke', { token }, { authorization })).status).toBe(200)
  expect((await service.call('/accounts', { token })).status).toBe(401)
  const again = await post('/oauth2/token', grant, { authorization })
  const second = String(again.json['access_token'])
  expect((await service.call('/accounts', { token: second })).status).toBe(200)
  clock.advance(3_600_000)
  expect((await service.call('/accounts', { token: second })).status).toBe(401)
})

it('does not let a client revoke the token of another', async () => {
  const owner = await service.signIn()
  const other = await service.signIn()
  const authorization = basic(other.clientId, other.clientSecret)
  expect((await post('/oauth2/revoke', { token: owner.token }, { authorization })).status).toBe(200)
  expect((await service.call('/accounts', { token: owner.token })).status).toBe(200)
})

it('keeps the newest old secret valid while the host rotates', async () => {
  const { clientId, clientSecret: first } = await service.signIn()
  const rotate = async () => {
    clock.advance(1_000)
    return (await inTransaction(service.context, (tx) => rotateClientSecret(tx, service.context, clientId)))
      .clientSecret
  }
  const works = async (secret: string) =>
    (await post('/oauth2/token', grant, { authorization: basic(clientId, secret) })).status === 200
  const second = await rotate()
  expect([await works(first), await works(second)]).toEqual([true, true])
  const third = await rotate()
  expect([await works(first), await works(second), await works(third)]).toEqual([false, true, true])
})

it('answers 403 for a scope that the token lacks', async () => {
  const { token } = await service.signIn({ scopes: ['accounts:read'] })
  const answer = await service.call('/accounts', { method: 'POST', token, key: 'k', body: {} })
  expect([answer.status, answer.json['code']]).toEqual([403, 'forbidden'])
})
