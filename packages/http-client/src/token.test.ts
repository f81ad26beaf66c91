import { afterEach, beforeEach, expect, test } from 'vitest'
import { answer, type ScriptedServer, silence, startServer } from '../test/scripted-server.ts'
import { type Client, type ClientOptions, createClient } from './client.ts'
import type { HttpAnswer } from './exchange.ts'
import { buildTokenRequest, readTokenAnswer } from './token.ts'

let server: ScriptedServer
let client: Client
let nowMs: number

const open = (options: Partial<ClientOptions> = {}) =>
  createClient({
    baseUrl: server.url,
    credentials: { clientId: 'client', clientSecret: 'secret' },
    clock: { now: () => new Date(nowMs) },
    retries: { times: 0 },
    ...options,
  })

beforeEach(async () => {
  server = await startServer()
  server.script(answer(200, { accounts: [] }))
  nowMs = Date.parse('2026-11-02T10:00:00Z')
  client = open()
})

afterEach(async () => {
  await server.close()
  await client.close()
})

const call = (accountId = 'account-1') => client.accounts.list(accountId)
const tokensSent = () => server.requests.map((request) => request.headers.authorization)

test('a token is requested with Basic credentials and a form', async () => {
  await client.close()
  client = open({ scope: 'transfers:read transfers:write' })
  await call()
  const [request] = server.tokenRequests
  expect(request?.method).toBe('POST')
  expect(request?.headers).toMatchObject({
    authorization: `Basic ${Buffer.from('client:secret').toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  })
  expect(request?.headers['idempotency-key']).toBeUndefined()
  expect(request?.body).toBe('grant_type=client_credentials&scope=transfers%3Aread+transfers%3Awrite')
})

test('credentials are form-encoded before they are Basic, so that a colon stays in its place', () => {
  const request = buildTokenRequest(
    new URL('https://login.example.com/token?tenant=1'),
    { clientId: 'a:b', clientSecret: 'c d%' },
    { userAgent: 'test' },
  )
  expect(request.headers.authorization).toBe(`Basic ${Buffer.from('a%3Ab:c+d%25').toString('base64')}`)
  expect(request.path).toBe('/token?tenant=1')
})

test('fifty calls at once ask for one token', async () => {
  await Promise.all(Array.from({ length: 50 }, () => call()))
  expect(server.requests).toHaveLength(50)
  expect(server.tokenRequests).toHaveLength(1)
})

test('fifty calls at once read the credentials of their account once', async () => {
  await client.close()
  let reads = 0
  client = open({
    credentials: async () => {
      reads += 1
      return { clientId: 'client', clientSecret: 'secret' }
    },
  })
  await Promise.all(Array.from({ length: 50 }, () => call()))
  expect(reads).toBe(1)
})

test('after a 403 the credentials are read again, and a fresh token is kept if they are the same', async () => {
  await client.close()
  let clientId = 'reader'
  client = open({ credentials: () => ({ clientId, clientSecret: 'secret' }) })
  server.script(answer(403, { code: 'forbidden' }))
  for (const _ of [1, 2]) await expect(call()).rejects.toMatchObject({ code: 'forbidden' })
  expect(server.tokenRequests).toHaveLength(1)
  clientId = 'writer'
  server.script(answer(200, { accounts: [] }))
  await expect(call()).resolves.toEqual([])
  expect(server.tokenRequests).toHaveLength(2)
})

test('a 403 replaces a token that is older than a minute, since the next one may have more scopes', async () => {
  await call()
  nowMs += 60_000
  server.script(answer(403, { code: 'forbidden' }))
  await expect(call()).rejects.toMatchObject({ code: 'forbidden' })
  expect(server.tokenRequests).toHaveLength(1)
  server.script(answer(200, { accounts: [] }))
  await call()
  expect(server.tokenRequests).toHaveLength(2)
})

test('fifty 401s at once ask for one new token', async () => {
  await call()
  server.script((response, request) => {
    const stale = request.headers.authorization === 'Bearer token-1'
    answer(stale ? 401 : 200, { accounts: [] })(response, request)
  })
  await Promise.all(Array.from({ length: 50 }, () => call()))
  expect(server.tokenRequests).toHaveLength(2)
})

test('a token is used until a minute before its end, then replaced', async () => {
  await call()
  nowMs += 3_539_000
  await call()
  nowMs += 1_000
  await call()
  expect(tokensSent()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
})

test('a token with a short life is used for nine tenths of it', async () => {
  server.scriptTokens(
    answer(200, { access_token: 'short', token_type: 'Bearer', expires_in: '20' }),
    answer(200, { access_token: 'next', expires_in: 20 }),
  )
  await call()
  nowMs += 17_999
  await call()
  nowMs += 1
  await call()
  expect(tokensSent()).toEqual(['Bearer short', 'Bearer short', 'Bearer next'])
})

test('accounts with the same credentials share a token, others do not', async () => {
  await client.close()
  const read: string[] = []
  client = open({
    credentials: async (accountId) => {
      read.push(accountId)
      return { clientId: accountId === 'account-3' ? 'other' : 'client', clientSecret: 'secret' }
    },
  })
  await call('account-1')
  await call('account-2')
  await call('account-3')
  await call('account-1')
  expect(tokensSent()).toEqual(['Bearer token-1', 'Bearer token-1', 'Bearer token-2', 'Bearer token-1'])
  expect(read).toEqual(['account-1', 'account-2', 'account-3'])
})

test('credentials are read again when a token is refused, so that a rotation needs no restart', async () => {
  await client.close()
  let clientSecret = 'old'
  client = open({ credentials: () => ({ clientId: 'client', clientSecret }) })
  await call()
  clientSecret = 'new'
  server.script(answer(401), answer(200, { accounts: [] }))
  await call()
  expect(server.tokenRequests[1]?.headers.authorization).toBe(`Basic ${Buffer.from('client:new').toString('base64')}`)
})

test('a failure to get a token is not remembered', async () => {
  server.scriptTokens(answer(503), answer(200, { access_token: 'better', expires_in: 60 }))
  await expect(call()).rejects.toMatchObject({ code: 'service_unavailable' })
  await call()
  expect(tokensSent()).toEqual(['Bearer better'])
})

test('refused credentials are unauthenticated, and the same call does not retry', async () => {
  await client.close()
  client = open({ retries: { times: 3 } })
  server.scriptTokens(answer(401, { error: 'invalid_client' }))
  await expect(call()).rejects.toMatchObject({ code: 'unauthenticated', status: 401 })
  expect(server.tokenRequests).toHaveLength(1)
})

test.each([
  '',
  '[]',
  '{}',
  '{"access_token": 7}',
  '{"access_token": "a\\nb"}',
  '{"access_token": "a", "token_type": "mac"}',
])('a grant %j is unreadable', (text) => {
  const body: HttpAnswer = { kind: 'answer', status: 200, headers: {}, text }
  expect(readTokenAnswer(body, new Date(0), [])).toMatchObject({ kind: 'unavailable' })
})

test.each([
  [404, 'misconfigured'],
  [405, 'misconfigured'],
  [302, 'misconfigured'],
  [408, 'unreachable'],
  [500, 'unreachable'],
  [503, 'unreachable'],
  [429, undefined],
] as const)('a token endpoint that answers %i: %s', (status, obstacle) => {
  const page: HttpAnswer = { kind: 'answer', status, headers: { 'retry-after': '5' }, text: '<html></html>' }
  const result = readTokenAnswer(page, new Date(0), [])
  expect(result).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining(`HTTP ${status}`) })
  expect('retryAfterMs' in result ? result.retryAfterMs : undefined).toBe(
    obstacle === 'misconfigured' ? undefined : 5_000,
  )
  expect('obstacle' in result ? result.obstacle : undefined).toBe(obstacle)
})

test('a token without a lifetime is used for five minutes', () => {
  const body: HttpAnswer = { kind: 'answer', status: 200, headers: {}, text: '{"access_token": "a"}' }
  expect(readTokenAnswer(body, new Date(0), [])).toEqual({ kind: 'grant', value: 'a', lifetimeMs: 300_000 })
})

test('a token has its own time limit, independent of the limit of calls', async () => {
  await client.close()
  const grant = answer(200, { access_token: 'late', expires_in: 60 })
  server.scriptTokens((...exchange) => void setTimeout(() => grant(...exchange), 2_500))
  client = open({ timeouts: { headersMs: 2_000, bodyMs: 2_000, totalMs: 2_000 } })
  await call()
  expect(server.tokenRequests).toHaveLength(1)
  await client.close()
  client = open({ timeouts: { tokenMs: 50 } })
  server.scriptTokens(silence)
  await expect(call()).rejects.toMatchObject({ code: 'service_unavailable' })
})
