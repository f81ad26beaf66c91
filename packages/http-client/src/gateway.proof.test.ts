import { defaultKeyLifetimeMs, type Gateway, type Submission } from '@outlay/core'
import { expect, test } from 'vitest'
import { scriptedExchange } from '../test/scripted-exchange.ts'
import { answer, reset } from '../test/scripted-server.ts'
import { createClient } from './client.ts'
import { outlayKeyLifetimeMs } from './gateway.ts'
import type { Credentials } from './token.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const leg = { addressId: '01BX5ZZKBKACTAV9WEVGEMMVS0', valueType: 'USDC', transferType: 'base' }
const request = {
  amount: { value: '1250.00', currency: 'USDC' },
  source: leg,
  destination: { ...leg, addressId: '01BX5ZZKBKACTAV9WEVGEMMVS1' },
}
const submission: Submission = {
  transferId: '01BX5ZZKBKACTAV9WEVGEMMVRZ',
  accountId,
  idempotencyKey: 'key-42',
  attempt: 1,
  request,
}

const exchange = scriptedExchange()
const never = new AbortController().signal

const submit = (one: Partial<Submission> = {}) => exchange.gateway.submit({ ...submission, ...one }, { signal: never })

const evaluated = { 'idempotency-key-evaluated': 'true' }
const replayed = { 'idempotent-replayed': 'true' }

test.each([
  ['an acceptance', 201, { id: 'r' }, {}, true],
  ['an acceptance of another status', 200, { id: 'r' }, {}, true],
  ['a success without an id', 201, {}, {}, false],
  ['a refusal that was decided behind the key', 404, { code: 'not_found' }, evaluated, true],
  ['a refusal that is a replay', 400, { code: 'not_found' }, replayed, true],
  ['a mark that says no', 404, { code: 'not_found' }, { 'idempotency-key-evaluated': 'false' }, false],
  ['a refusal before the key', 404, { code: 'not_found' }, {}, false],
  ['the page of a proxy', 404, '<html>not here</html>', {}, false],
  ['the page of a proxy that passes headers on', 404, '<html>not here</html>', evaluated, false],
  ['a refusal without a code', 422, { message: 'no' }, evaluated, false],
  ['a code of the specification', 422, { code: 'invalid_account_number' }, {}, true],
  ['lack of funds', 422, { code: 'insufficient_balance' }, {}, true],
  ['another key', 422, { code: 'idempotency_key_mismatch' }, {}, true],
  ['lack of funds as a sentence', 422, { message: 'insufficient balance' }, {}, false],
  ['another code', 422, { code: 'invalid_address' }, {}, false],
  ['another code with a mark', 422, { code: 'invalid_address' }, evaluated, true],
  ['another status', 400, { code: 'invalid_account_number' }, {}, false],
] as const)('%s (%i) proves that the key was checked, or does not', async (_, status, body, headers, keyEvaluated) => {
  exchange.server.script(answer(status, body, headers))
  expect((await submit()).keyEvaluated ?? false).toBe(keyEvaluated)
})

test('keys live for a day, unless the options say that the service keeps them longer', async () => {
  expect(exchange.gateway.keyLifetimeMs ?? defaultKeyLifetimeMs).toBe(24 * 3_600_000)
  expect(exchange.openGateway({ keyLifetimeMs: outlayKeyLifetimeMs }).keyLifetimeMs).toBe(20 * 24 * 3_600_000)
})

test('a quoted key is sent unchanged, because earlier code sent it so', async () => {
  exchange.server.script(answer(201, { id: 'r' }))
  await submit({ idempotencyKey: '"inv-7"' })
  expect(exchange.server.requests[0]?.headers['idempotency-key']).toBe('"inv-7"')
})

const identify = (of: Gateway = exchange.gateway) => of.identify?.(accountId, { signal: never })

test('the service and the client id identify the client, and the secret does not', async () => {
  const known = await identify()
  expect(known).toBe(`client ${exchange.server.url}/`)
  const rotated = exchange.openGateway({ credentials: { clientId: 'client', clientSecret: 'another' } })
  expect(await identify(rotated)).toBe(known)
  const other = exchange.openGateway({ credentials: { clientId: 'client-2', clientSecret: 'secret' } })
  expect(await identify(other)).not.toBe(known)
  expect(await identify(exchange.openGateway({ baseUrl: `${exchange.server.url}/v2` }))).not.toBe(known)
  const named = ['', '/v2'].map((path) =>
    exchange.openGateway({ baseUrl: exchange.server.url + path, serviceName: 'payouts' }),
  )
  expect(await Promise.all(named.map(identify))).toEqual(['client payouts', 'client payouts'])
  expect(known).not.toContain('secret')
  expect(exchange.server.tokenRequests).toEqual([])
})

test('while a token is valid, identifying the client does not read the vault', async () => {
  let reads = 0
  exchange.openGateway({
    credentials: async () => {
      reads += 1
      return { clientId: 'client', clientSecret: 'secret' }
    },
  })
  exchange.server.script(answer(201, { id: 'r' }))
  const client = await identify()
  await submit({ client })
  const first = reads
  for (let attempt = 2; attempt < 9; attempt += 1) {
    await identify()
    await submit({ client, attempt })
  }
  expect(reads).toBe(first)
})

test('nothing is sent as a client other than the requested one', async () => {
  let credentials: Credentials = { clientId: 'old', clientSecret: 'secret' }
  exchange.openGateway({ credentials: async () => credentials })
  const old = await identify()
  credentials = { clientId: 'new', clientSecret: 'secret' }
  exchange.server.script(answer(201, { id: 'r' }))
  expect(await submit({ client: old })).toMatchObject({
    outcome: 'throttled',
    detail: 'not sent: the credentials now belong to another client',
  })
  expect(exchange.server.requests).toEqual([])
  const next = await identify()
  expect(next).not.toBe(old)
  expect(await submit({ client: next })).toMatchObject({ outcome: 'accepted' })
})

test('a client that is back in the vault is found at once, although the token of the other one is valid', async () => {
  let credentials: Credentials = { clientId: 'old', clientSecret: 'secret' }
  exchange.openGateway({ credentials: async () => credentials })
  exchange.server.script(answer(201, { id: 'r' }))
  const old = await identify()
  credentials = { clientId: 'new', clientSecret: 'secret' }
  await submit({ client: await identify() })
  credentials = { clientId: 'old', clientSecret: 'secret' }
  expect(await identify()).not.toBe(old)
  expect(await exchange.gateway.identify?.(accountId, { signal: never, wanted: old })).toBe(old)
  expect(await submit({ client: old })).toMatchObject({ outcome: 'accepted' })
  expect(exchange.server.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer token-1',
    'Bearer token-2',
  ])
})

test('nothing is sent as another client after a 401 either', async () => {
  let credentials: Credentials = { clientId: 'old', clientSecret: 'secret' }
  exchange.openGateway({ credentials: async () => credentials })
  exchange.server.script((response, received) => {
    credentials = { clientId: 'new', clientSecret: 'secret' }
    answer(401, { code: 'unauthenticated' })(response, received)
  })
  expect(await submit({ client: await identify() })).toMatchObject({ outcome: 'throttled' })
  expect(exchange.server.requests).toHaveLength(1)
})

test('a vault that fails says nothing about the client', async () => {
  exchange.openGateway({ credentials: async () => Promise.reject(new Error('sealed')) })
  await expect(identify()).rejects.toThrow('sealed')
})

const create = (key = 'key-42') => {
  const client = createClient({
    baseUrl: exchange.server.url,
    credentials: { clientId: 'client', clientSecret: 'secret' },
    wait: async () => {},
  })
  return client.transfers.create(accountId, request, { idempotencyKey: key }).finally(() => client.close())
}

test('the standalone client keeps the outcome unknown when a refusal follows a lost answer, unless the key was checked', async () => {
  exchange.server.script(reset, answer(404, { code: 'not_found' }))
  await expect(create()).rejects.toMatchObject({ code: 'outcome_unknown', status: 404 })
  exchange.server.script(reset, answer(401, { code: 'unauthenticated' }))
  await expect(create()).rejects.toMatchObject({ code: 'outcome_unknown' })
  exchange.server.script(reset, answer(404, { code: 'not_found' }, evaluated))
  await expect(create()).rejects.toMatchObject({ code: 'not_found' })
  exchange.server.script(reset, answer(422, { code: 'invalid_account_number' }))
  await expect(create()).rejects.toMatchObject({ code: 'invalid_account_number' })
})

test('the standalone client does not treat a page without a code as a refusal', async () => {
  for (const body of ['<html>not here</html>', '', 'gone', { message: 'no Route matched' }]) {
    exchange.server.script(answer(404, body))
    await expect(create()).rejects.toMatchObject({ code: 'outcome_unknown', status: 404 })
  }
  exchange.server.script(answer(404, { code: 'not_found' }))
  await expect(create()).rejects.toMatchObject({ code: 'not_found' })
})

test.each([
  ['a 403 of the service', 403, { code: 'forbidden' }, {}, false],
  ['the page of a firewall', 403, '<html>forbidden</html>', {}, true],
  ['a 429 of the service', 429, { code: 'rate_limited' }, {}, false],
  ['a 429 without a word', 429, '', {}, true],
  ['a 401 of the service', 401, { code: 'unauthenticated' }, {}, false],
  ['a 401 that asks for credentials', 401, '', { 'www-authenticate': 'Bearer' }, false],
  ['a 401 of an unknown server', 401, '<html>who are you</html>', {}, true],
] as const)(
  '%s leaves open whether the request was carried out, or not',
  async (_, status, body, headers, mayHaveActed) => {
    exchange.server.script(answer(status, body, headers), answer(status, body, headers))
    const result = await submit()
    expect(result.httpStatus).toBe(status)
    expect(result.mayHaveActed ?? false).toBe(mayHaveActed)
  },
)

test.each([
  ['is refused with a code', answer(400, { code: 'invalid_request' }), true],
  ['is refused for its token', answer(401, { code: 'unauthenticated' }), true],
  ['is refused behind the key', answer(422, { code: 'invalid_account_number' }), false],
  ['is refused before the first one was carried out', answer(400, { code: 'invalid_request' }), false],
] as const)('a second request that %s leaves the first one open, or not', async (name, second, isOpen) => {
  const isOwn = name.includes('before')
  exchange.server.script(
    isOwn ? answer(401, { code: 'unauthenticated' }) : answer(401, '<html>who are you</html>'),
    second,
  )
  const { mayHaveActed = false, keyEvaluated = false } = await submit()
  expect(mayHaveActed && !keyEvaluated).toBe(isOpen)
})

test('a client says so too: neither a page of a 401 nor one of a 429 is undone by the refusal of the next request', async () => {
  for (const status of [401, 429]) {
    exchange.server.script(answer(status, '<html>busy</html>'), answer(400, { code: 'invalid_request' }))
    await expect(create()).rejects.toMatchObject({ code: 'outcome_unknown' })
  }
})
