import { readFileSync } from 'node:fs'
import { OutlayError, type TransferRequest } from '@outlay/core'
import { MockAgent } from 'undici'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { answer, reset, type ScriptedServer, startServer } from '../test/scripted-server.ts'
import { type Client, type ClientOptions, createClient } from './client.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const wallet = '01BX5ZZKBKACTAV9WEVGEMMVS0'
const bank = '01BX5ZZKBKACTAV9WEVGEMMVS1'

const request: TransferRequest = {
  amount: { value: '1250.00', currency: 'USD' },
  source: { addressId: wallet, valueType: 'USDC', transferType: 'base' },
  destination: { addressId: bank, valueType: 'USD', transferType: 'wire' },
}

const full = {
  id: 'transfer-1',
  status: 'pending',
  failure: null,
  amount: { value: '1250.00', currency: 'USD' },
  source: { address_id: wallet, value_type: 'USDC', transfer_type: 'base' },
  destination: { address_id: bank, value_type: 'USD', transfer_type: 'wire' },
  note: null,
  created_at: '2026-01-02T03:04:05.678Z',
  updated_at: '2026-01-02T03:04:05.678Z',
}

let server: ScriptedServer
let client: Client
let waits: number[]

const open = (options: Partial<ClientOptions> = {}) =>
  createClient({
    baseUrl: server.url,
    credentials: { clientId: 'client', clientSecret: 'secret' },
    clock: { now: () => new Date('2026-11-02T10:00:00Z') },
    random: { fraction: () => 0.5 },
    wait: async (ms) => {
      waits.push(ms)
    },
    ...options,
  })

beforeEach(async () => {
  server = await startServer()
  waits = []
  client = open()
})

afterEach(async () => {
  await server.close()
  await client.close()
})

const failing = async (promise: Promise<unknown>): Promise<OutlayError> => {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  if (!OutlayError.is(error)) throw new Error('expected an OutlayError', { cause: error })
  return error
}

const keys = () => server.requests.map((received) => received.headers['idempotency-key'])

test('a create generates a UUID as its key and returns it', async () => {
  server.script(answer(201, { id: 'transfer-1' }))
  const created = await client.transfers.create(accountId, request)
  expect(created).toMatchObject({ id: 'transfer-1', transfer: undefined })
  expect(created.idempotencyKey).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(keys()).toEqual([created.idempotencyKey])
})

test('a create is repeated with its one key after a broken connection, a 429 and a 5xx', async () => {
  server.script(reset, answer(429), answer(503), answer(201, full))
  const created = await client.transfers.create(accountId, request)
  expect(created.transfer).toMatchObject({ id: 'transfer-1', status: 'pending' })
  expect(new Set(keys())).toEqual(new Set([created.idempotencyKey]))
  expect(server.requests).toHaveLength(4)
  expect(waits).toEqual([125, 250, 500])
})

test('a create uses the given key, and refuses one that a header cannot carry', async () => {
  server.script(answer(201, full))
  await client.transfers.create(accountId, request, { idempotencyKey: 'invoice-42' })
  expect(keys()).toEqual(['invoice-42'])
  const error = await failing(client.transfers.create(accountId, request, { idempotencyKey: 'two\nlines' }))
  expect(error.code).toBe('idempotency_key_invalid')
  expect(server.requests).toHaveLength(1)
})

test('Retry-After is honoured as seconds and as a date', async () => {
  server.script(
    answer(429, '', { 'retry-after': '2' }),
    answer(503, '', { 'retry-after': 'Mon, 02 Nov 2026 10:00:05 GMT' }),
    answer(201, full),
  )
  await client.transfers.create(accountId, request)
  expect(waits).toEqual([2_125, 5_125])
})

test('a request is not retried when the service asks for a longer delay than allowed, and the error has that delay', async () => {
  server.script(answer(429, '', { 'retry-after': '120', 'x-request-id': 'request-1' }))
  const error = await failing(client.transfers.create(accountId, request))
  expect(error).toMatchObject({ code: 'rate_limited', status: 429, requestId: 'request-1', retryAfterMs: 120_000 })
  expect(waits).toEqual([])
})

test('a write that may have taken effect is outcome_unknown and has its key, regardless of the last answer', async () => {
  server.script(reset, answer(429))
  const error = await failing(client.transfers.create(accountId, request))
  expect(error).toMatchObject({ code: 'outcome_unknown', cause: { idempotencyKey: keys()[0] } })
  expect(server.requests).toHaveLength(4)
})

test('an unreadable success is outcome_unknown too', async () => {
  server.script(answer(201, '<html>'))
  expect((await failing(client.transfers.create(accountId, request))).code).toBe('outcome_unknown')
  server.script(answer(201, {}))
  expect((await failing(client.transfers.create(accountId, request))).code).toBe('outcome_unknown')
})

test('a definite refusal is not retried and names its field', async () => {
  server.script(
    answer(422, {
      code: 'validation_error',
      errors: [{ code: 'wire_memo_too_long', detail: 'too long', source: { pointer: '/destination/wire_memo' } }],
    }),
  )
  const error = await failing(client.transfers.create(accountId, request))
  expect(error).toMatchObject({ code: 'wire_memo_too_long', field: 'destination.wireMemo', status: 422 })
  expect(error.issues).toEqual([{ field: 'destination.wireMemo', code: 'wire_memo_too_long', message: 'too long' }])
  expect(server.requests).toHaveLength(1)
})

test("an unknown code of the service is available as the error's cause", async () => {
  server.script(answer(400, { code: 'moon_phase_wrong', message: 'not today' }))
  const error = await failing(client.transfers.create(accountId, request))
  expect(error).toMatchObject({ code: 'rejected_by_service', cause: { code: 'moon_phase_wrong', detail: 'not today' } })
})

test('an invalid request is refused before anything is sent', async () => {
  const error = await failing(
    client.transfers.create(accountId, { ...request, amount: { value: '-1', currency: 'USD' } }),
  )
  expect(error).toMatchObject({ code: 'invalid_amount', field: 'amount.value' })
  expect(server.requests).toHaveLength(0)
})

test('an abort ends the delay between attempts, and the outcome is unknown', async () => {
  const controller = new AbortController()
  await client.close()
  client = open({
    wait: async (_, signal) => {
      controller.abort()
      signal?.throwIfAborted()
    },
  })
  server.script(answer(503))
  const error = await failing(client.transfers.create(accountId, request, { signal: controller.signal }))
  expect(error.code).toBe('aborted')
  expect(error.message).toContain('same idempotency key')
})

test('an abort while a token is fetched leaves the fetch to the others', async () => {
  const controller = new AbortController()
  server.scriptTokens((response, received) => {
    controller.abort()
    answer(200, { access_token: 'late', expires_in: 3600 })(response, received)
  })
  server.script(answer(200, full))
  const [aborted, other] = await Promise.all([
    failing(client.transfers.get(accountId, 'transfer-1', { signal: controller.signal })),
    client.transfers.get(accountId, 'transfer-1'),
  ])
  expect(aborted.code).toBe('aborted')
  expect(other?.id).toBe('transfer-1')
  expect(server.tokenRequests).toHaveLength(1)
})

test('Idempotency-Key is on creates and nowhere else', async () => {
  server.script(answer(200, full), answer(200, [full]), answer(204), answer(200, []), answer(200, { accounts: ['a'] }))
  await client.transfers.get(accountId, 'transfer-1')
  await client.transfers.list(accountId)
  await client.addresses.update(accountId, wallet, { transferTypes: ['polygon'] })
  await client.balances.list(accountId)
  await client.accounts.list(accountId)
  expect(server.requests.map((received) => received.method)).toEqual(['GET', 'GET', 'PATCH', 'GET', 'GET'])
  expect(keys()).toEqual([undefined, undefined, undefined, undefined, undefined])
})

test('a missing record is undefined', async () => {
  server.script(answer(404, { code: 'not_found' }))
  expect(await client.transfers.get(accountId, 'x')).toBeUndefined()
  expect(await client.addresses.get(accountId, 'x')).toBeUndefined()
  expect(await client.accounts.get(accountId)).toBeUndefined()
  expect(await client.balances.get(accountId, 'x', { valueType: 'USDC', transferType: 'base' })).toBeUndefined()
  expect((await failing(client.transfers.list(accountId))).code).toBe('not_found')
})

test('a record that somebody else does not find is not missing', async () => {
  for (const body of ['<html>not here</html>', '', { message: 'no Route matched' }]) {
    server.script(answer(404, body))
    const error = await failing(client.transfers.get(accountId, 'x'))
    expect(error).toMatchObject({ code: 'service_unavailable', status: 404 })
  }
})

test('filters and the page are sent under their documented names', async () => {
  server.script(answer(200, { transfers: [], pagination: {} }))
  const filters = { automationId: 'a', valueType: 'USDC', transferType: 'base', transactionId: '0x1', pageSize: 100 }
  expect(await client.transfers.list(accountId, { ...filters, before: 'c' })).toMatchObject({
    items: [],
    next: undefined,
  })
  expect(Object.fromEntries(new URL(server.requests[0]?.url ?? '', server.url).searchParams)).toEqual({
    automation_id: 'a',
    value_type: 'USDC',
    transfer_type: 'base',
    transaction_id: '0x1',
    'page[size]': '100',
    'page[prev]': 'c',
  })
})

test.each(['page[after]', 'page[next]'] as const)(
  'all pages are walked with %s, and filters persist',
  async (forwardCursor) => {
    await client.close()
    client = open({ forwardCursor })
    server.script(
      answer(200, { transfers: [full], pagination: { next: 'two', prev: null } }),
      answer(200, { transfers: [{ ...full, id: 'transfer-2' }], pagination: { next: null, prev: 'one' } }),
    )
    const ids = []
    for await (const transfer of client.transfers.iterate(accountId, { valueType: 'USDC' })) ids.push(transfer.id)
    expect(ids).toEqual(['transfer-1', 'transfer-2'])
    const queries = server.requests.map((received) => new URL(received.url, server.url).searchParams)
    expect(queries.map((query) => query.get(forwardCursor))).toEqual([null, 'two'])
    expect(queries.map((query) => query.get('value_type'))).toEqual(['USDC', 'USDC'])
  },
)

test('pages that are not consumed are not read', async () => {
  server.script(answer(200, { transfers: [full, full], pagination: { next: 'two' } }))
  for await (const transfer of client.transfers.iterate(accountId)) {
    expect(transfer.id).toBe('transfer-1')
    break
  }
  expect(server.requests).toHaveLength(1)
})

test('a page that points to itself is an error, not an endless loop', async () => {
  server.script(answer(200, { transfers: [full], pagination: { next: 'same' } }))
  const walk = async () => {
    for await (const _ of client.transfers.iterate(accountId));
  }
  expect((await failing(walk())).code).toBe('unreadable_response')
  expect(server.requests).toHaveLength(2)
})

test('an external address is checked, sent in the documented shape, and answered with its id', async () => {
  const address = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  server.script(answer(201, { id: 'address-1' }))
  const input = {
    owner: 'Ada',
    name: 'Payroll',
    accountNumber: '1234567890',
    routingNumber: '021000021',
    accountType: 'checking' as const,
    bankAddress: address,
    beneficiaryAddress: address,
    transferTypes: ['wire', 'ach_credit'],
  }
  expect(await client.addresses.createExternal(accountId, input)).toMatchObject({ id: 'address-1', address: undefined })
  const wired = { street_line_1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  expect(server.requests[0]?.url).toBe(`/accounts/${accountId}/addresses/external`)
  expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({
    owner: 'Ada',
    name: 'Payroll',
    account_number: '1234567890',
    routing_number: '021000021',
    account_type: 'checking',
    bank_address: wired,
    beneficiary_address: wired,
    transfer_types: ['wire', 'ach_credit'],
  })
  const error = await failing(client.addresses.createExternal(accountId, { ...input, routingNumber: '123456789' }))
  expect(error.code).toBe('invalid_routing_number')
  expect(server.requests).toHaveLength(1)
})

test('an account is registered with its fields in the spelling of the service', async () => {
  const address = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  const account = {
    businessName: 'Acme',
    ein: '12-3456789',
    address,
    phoneNumber: '+15125550100',
    email: 'a@acme.test',
    website: 'https://acme.test',
    ultimateBeneficialOwners: [{ name: 'Ada', ssn: '123-45-6789', address }],
  }
  server.script((response, received) =>
    answer(201, { ...JSON.parse(received.body), id: 'account-2', status: 'pending' })(response, received),
  )
  const created = await client.accounts.create(accountId, {
    ...account,
    additional: { tos_attestation: { ip: '::1' } },
  })
  expect(created).toMatchObject({ id: 'account-2', account: { id: 'account-2', status: 'pending', ...account } })
  expect(created.account?.raw).toMatchObject({ tos_attestation: { ip: '::1' } })
})

test('a base address with a path keeps it, for the API and for tokens', async () => {
  await client.close()
  client = open({ baseUrl: `${server.url}/v2/` })
  server.script(answer(200, full))
  await client.transfers.get(accountId, 'transfer-1')
  expect(server.requests[0]?.url).toBe(`/v2/accounts/${accountId}/transfers/transfer-1`)
  expect(server.tokenRequests[0]?.url).toBe('/v2/oauth2/token')
})

test('an address that would expose secrets in transit is refused at once', () => {
  expect(() => open({ baseUrl: 'http://api.example.com' })).toThrow('allowInsecure')
  expect(() => open({ baseUrl: 'https://user:pass@api.example.com' })).toThrow('credentials')
  expect(() => open({ baseUrl: 'ftp://api.example.com' })).toThrow('http')
})

test('an address with what no request would carry is refused with the name of its option', () => {
  const [baseUrl, secret] = ['https://api.example.com/v1', 'key=s3cret']
  expect(() => open({ baseUrl: `${baseUrl}?${secret}` })).toThrow(
    'baseUrl must have no query, which no request would carry: end it at its path, such as https://api.example.com/v1',
  )
  expect(() => open({ baseUrl: new URL(`${baseUrl}#${secret}`) })).toThrow('baseUrl must have no fragment')
  expect(() => open({ baseUrl, tokenUrl: `${baseUrl}/token#${secret}` })).toThrow('tokenUrl must have no fragment')
  expect(() => open({ baseUrl: () => `${baseUrl}?${secret}`, tokenUrl: `${baseUrl}/token?audience=pay` })).not.toThrow()
})

test.each([
  ['api.example.com', 'it does not begin with https://'],
  ['localhost:3000', 'it does not begin with https://'],
  ['https://', 'it cannot be read as one'],
  ['', 'it is empty'],
  [undefined, 'it is undefined'],
])('an address %j is refused with what to write', (baseUrl, why) => {
  const sentence = `baseUrl must be an http or https address such as https://api.example.com; ${why}`
  expect(() => open({ baseUrl: baseUrl as string })).toThrow(sentence)
})

test.each([
  [undefined, 'clientId is no text'],
  [{ clientId: 'a', clientSecret: undefined }, 'clientSecret is no text'],
  [{ clientId: '', clientSecret: 'b' }, 'clientId is empty'],
])('credentials %j are refused at once, as of variables that are not set', (credentials, why) => {
  expect(() => open({ credentials: credentials as never })).toThrow(
    `credentials must be { clientId, clientSecret }, or a function that returns them; ${why}`,
  )
})

test('a member of a request that does not exist is refused before anything is sent', async () => {
  const create = (extra: object) => client.transfers.create(accountId, { ...request, ...extra })
  await expect(create({ metadata: { invoice: '1' } })).rejects.toMatchObject({
    code: 'invalid_request',
    field: 'metadata',
  })
  await expect(create({ destination: { ...request.destination, memo: 'x' } })).rejects.toMatchObject({
    field: 'destination.memo',
  })
  expect(server.requests).toHaveLength(0)
  expect(() => open({ tokenUrl: 'http://login.example.com/token' })).toThrow('tokenUrl')
})

test('a dispatcher from the options is used, and stays open', async () => {
  const agent = new MockAgent()
  agent.disableNetConnect()
  const pool = agent.get('https://api.example.com')
  pool.intercept({ path: '/oauth2/token', method: 'POST' }).reply(200, { access_token: 'token', expires_in: 3600 })
  pool.intercept({ path: `/accounts/${accountId}/transfers/transfer-1` }).reply(200, full)
  const other = open({ baseUrl: 'https://api.example.com', dispatcher: agent })
  expect((await other.transfers.get(accountId, 'transfer-1'))?.id).toBe('transfer-1')
  await other.close()
  agent.assertNoPendingInterceptors()
  await agent.close()
})

test('requests name the release of the client', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  await client.transfers.get(accountId, 'transfer-1').catch(() => undefined)
  expect(server.requests[0]?.headers['user-agent']).toBe(`outlay-http-client/${version}`)
})
