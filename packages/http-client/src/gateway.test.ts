import { createCatalog, OutlayError, type Submission, type SubmitResult } from '@outlay/core'
import { expect, test } from 'vitest'
import { scriptedExchange } from '../test/scripted-exchange.ts'
import { answer, reset, resetMidBody, silence, silenceMidBody, startServer } from '../test/scripted-server.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

const submission: Submission = {
  transferId: '01BX5ZZKBKACTAV9WEVGEMMVRZ',
  accountId,
  idempotencyKey: 'invoice-42',
  attempt: 1,
  request: {
    amount: { value: '1250.00', currency: 'USD' },
    source: { addressId: '01BX5ZZKBKACTAV9WEVGEMMVS0', valueType: 'USDC', transferType: 'base' },
    destination: {
      addressId: '01BX5ZZKBKACTAV9WEVGEMMVS1',
      valueType: 'USD',
      transferType: 'wire',
      wireMemo: 'INV-42',
    },
    note: 'invoice 42',
  },
}

const full = {
  id: 'transfer-1',
  status: 'pending',
  failure: null,
  amount: { value: '1250.00', currency: 'USD' },
  source: { address_id: 'a', value_type: 'USDC', transfer_type: 'base' },
  destination: { address_id: 'b', value_type: 'USD', transfer_type: 'wire' },
  note: null,
  created_at: '2026-01-02T03:04:05.678901Z',
  updated_at: '2026-01-02T03:04:05.678901Z',
}

const exchange = scriptedExchange()

const never = new AbortController().signal
const submit = (signal: AbortSignal = never) => exchange.gateway.submit(submission, { signal })

test('a create is one POST with the documented body, the key and the token', async () => {
  exchange.server.script(answer(201, { id: 'transfer-1' }))
  await submit()
  const [request] = exchange.server.requests
  expect(request?.method).toBe('POST')
  expect(request?.url).toBe(`/accounts/${accountId}/transfers`)
  expect(request?.headers).toMatchObject({
    authorization: 'Bearer token-1',
    'content-type': 'application/json',
    'idempotency-key': 'invoice-42',
  })
  expect(JSON.parse(request?.body ?? '')).toEqual({
    amount: { value: '1250.00', currency: 'USD' },
    source: { address_id: '01BX5ZZKBKACTAV9WEVGEMMVS0', value_type: 'USDC', transfer_type: 'base' },
    destination: {
      address_id: '01BX5ZZKBKACTAV9WEVGEMMVS1',
      value_type: 'USD',
      transfer_type: 'wire',
      wire_memo: 'INV-42',
    },
    note: 'invoice 42',
  })
})

test('the bytes of two attempts are the same', async () => {
  exchange.server.script(answer(503), answer(201, { id: 'transfer-1' }))
  await submit()
  await exchange.gateway.submit({ ...submission, attempt: 2 }, { signal: never })
  expect(exchange.server.requests[0]?.body).toBe(exchange.server.requests[1]?.body)
})

test('an answer with the id only is accepted without an observation', async () => {
  exchange.server.script(answer(201, { id: 'transfer-1' }, { 'x-request-id': 'request-1' }))
  expect(await submit()).toMatchObject({
    outcome: 'accepted',
    remoteId: 'transfer-1',
    httpStatus: 201,
    requestId: 'request-1',
    observation: undefined,
  })
})

test('an answer with the full transfer is accepted with an observation', async () => {
  exchange.server.script(answer(201, full))
  const result = await submit()
  expect(result).toMatchObject({ outcome: 'accepted', remoteId: 'transfer-1' })
  expect(result.outcome === 'accepted' && result.observation?.transfer).toMatchObject({
    amount: { value: '1250.00', currency: 'USD' },
    createdAt: '2026-01-02T03:04:05.678901Z',
  })
})

test('an answer with an id is accepted even when the rest is invalid', async () => {
  exchange.server.script(answer(201, { ...full, status: 'unheard of', amount: 7 }))
  expect(await submit()).toMatchObject({ outcome: 'accepted', remoteId: 'transfer-1', observation: undefined })
})

const problem = {
  type: 'about:blank',
  title: 'Unprocessable',
  status: 422,
  detail: 'too poor',
  code: 'insufficient_balance',
}
const answers: readonly (readonly [string, number, unknown, Partial<Record<string, unknown>>])[] = [
  ['success whose body is empty', 201, '', { outcome: 'unknown' }],
  ['success whose body is no JSON', 201, '<html>hello</html>', { outcome: 'unknown' }],
  ['success without an id', 201, { status: 'pending' }, { outcome: 'unknown' }],
  ['a numeric id', 200, { id: 12 }, { outcome: 'accepted', remoteId: '12' }],
  ['a redirect', 302, '', { outcome: 'unknown' }],
  [
    'a missing key',
    400,
    { message: 'Idempotency-Key header is required' },
    { outcome: 'unknown', detail: 'Idempotency-Key header is required' },
  ],
  ['401 with every token', 401, { message: 'expired' }, { outcome: 'unauthorized' }],
  ['403', 403, { message: 'scope' }, { outcome: 'unauthorized' }],
  ['404', 404, { code: 'not_found' }, { outcome: 'rejected', code: 'not_found' }],
  [
    '404 of a proxy',
    404,
    '<html>not here</html>',
    { outcome: 'unknown', obstacle: 'misconfigured', detail: 'HTTP 404; is the path of baseUrl right?' },
  ],
  ['404 without a code', 404, { message: 'no Route matched with those values' }, { outcome: 'unknown' }],
  ['400 as plain text', 400, 'account number is invalid', { outcome: 'unknown' }],
  ['410 without a body', 410, '', { outcome: 'unknown' }],
  ['408', 408, '', { outcome: 'unknown' }],
  ['409 without a code', 409, '', { outcome: 'throttled' }],
  ['409 of a key in flight', 409, { code: 'idempotency_key_in_flight' }, { outcome: 'throttled' }],
  ['409 of a key used otherwise', 409, { code: 'idempotency_key_mismatch' }, { outcome: 'key_mismatch' }],
  ['422 as problem+json', 422, problem, { outcome: 'insufficient_balance', detail: 'too poor' }],
  ['422 as a flat code', 422, { code: 'insufficient_balance' }, { outcome: 'insufficient_balance' }],
  ['422 as a nested error', 422, { error: { code: 'insufficient_balance' } }, { outcome: 'insufficient_balance' }],
  ['422 as a bare error', 422, { error: 'insufficient_balance' }, { outcome: 'insufficient_balance' }],
  ['422 as a list', 422, { errors: [{ code: 'insufficient_balance' }] }, { outcome: 'insufficient_balance' }],
  ['422 as a bare list', 422, [{ code: 'INSUFFICIENT_BALANCE' }], { outcome: 'insufficient_balance' }],
  [
    '422 as a problem type',
    422,
    { type: 'https://x.test/p/insufficient-balance' },
    { outcome: 'insufficient_balance' },
  ],
  ['422 as a sentence', 422, { message: 'Insufficient balance in wallet' }, { outcome: 'insufficient_balance' }],
  ['422 of a key, by code', 422, { code: 'idempotency_key_mismatch' }, { outcome: 'key_mismatch' }],
  [
    '422 of a key, by its sentence',
    422,
    { message: 'Idempotency key cannot be reused with a different payload or URI' },
    { outcome: 'key_mismatch' },
  ],
  [
    '422 of a key, by its sentence under a vague code',
    422,
    { code: 'validation_error', message: 'This key cannot be reused with a different payload or URI.' },
    { outcome: 'key_mismatch' },
  ],
  ['422 of a key, as plain text', 422, 'key cannot be reused with a different payload', { outcome: 'key_mismatch' }],
  [
    '422 invalid_account_number',
    422,
    { code: 'invalid_account_number' },
    { outcome: 'rejected', code: 'invalid_account_number' },
  ],
  [
    '422 about two members',
    422,
    {
      code: 'invalid_address',
      detail: 'Two things are wrong.',
      errors: [
        { detail: 'destination.addressId: not there', source: { pointer: '/destination/address_id' } },
        { detail: 'too much', source: { pointer: '/amount/value' } },
      ],
    },
    {
      outcome: 'rejected',
      code: 'invalid_address',
      detail: 'destination.addressId: not there; amount.value: too much',
    },
  ],
  ['422 without a body', 422, '', { outcome: 'unknown', detail: 'HTTP 422' }],
  ['429', 429, '', { outcome: 'throttled' }],
  ['500', 500, { message: 'oops' }, { outcome: 'unknown', detail: 'oops' }],
  ['500 that says the balance is short', 500, { code: 'insufficient_balance' }, { outcome: 'unknown' }],
  ['502 of a proxy', 502, '<html>Bad gateway</html>', { outcome: 'unknown', detail: 'HTTP 502' }],
]

test.each(answers)('%s (%i) means what the specification says', async (_, status, body, expected) => {
  exchange.server.script(answer(status, body))
  const result: SubmitResult = await submit()
  expect(result).toMatchObject({ httpStatus: status, ...expected })
  expect(exchange.server.requests).toHaveLength(status === 401 ? 2 : 1)
})

test('Retry-After is read as seconds and as a date', async () => {
  await exchange.gateway.close?.()
  exchange.openGateway({ clock: { now: () => new Date('2026-11-02T10:00:00Z') } })
  exchange.server.script(answer(429, '', { 'retry-after': '7' }))
  expect(await submit()).toMatchObject({ outcome: 'throttled', retryAfterMs: 7_000 })
  exchange.server.script(answer(503, '', { 'retry-after': 'Mon, 02 Nov 2026 10:01:30 GMT' }))
  expect(await submit()).toMatchObject({ outcome: 'unknown', retryAfterMs: 90_000 })
})

test('a connection that breaks before the answer leaves the outcome unknown and is not retried', async () => {
  exchange.server.script(reset)
  expect(await submit()).toMatchObject({ outcome: 'unknown' })
  expect(exchange.server.requests).toHaveLength(1)
})

test.each([200, 201, 401, 422, 500])(
  'a connection that breaks within the body of a %i leaves the outcome unknown',
  async (status) => {
    exchange.server.script(resetMidBody(status))
    expect(await submit()).toMatchObject({ outcome: 'unknown' })
    expect(exchange.server.requests).toHaveLength(1)
  },
)

test('a timeout before the headers, within the body or of the whole request leaves the outcome unknown', async () => {
  await exchange.gateway.close?.()
  for (const [timeouts, step] of [
    [{ headersMs: 2_000 }, silence],
    [{ bodyMs: 2_000 }, silenceMidBody],
    [{ totalMs: 2_000 }, silence],
  ] as const) {
    exchange.openGateway({ timeouts })
    exchange.server.script(step)
    expect(await submit()).toMatchObject({ outcome: 'unknown', detail: expect.stringContaining('timed out') })
    await exchange.gateway.close?.()
  }
})

test('an answer beyond the limit leaves the outcome unknown', async () => {
  await exchange.gateway.close?.()
  exchange.openGateway({ maxBodyBytes: 1000 })
  exchange.server.script(answer(201, { id: 'transfer-1', note: 'x'.repeat(2000) }))
  expect(await submit()).toMatchObject({ outcome: 'unknown', detail: 'answer is too large' })
})

test('a refused connection was never sent, so nothing is unknown', async () => {
  const gone = await startServer()
  await gone.close()
  await exchange.gateway.close?.()
  exchange.openGateway({ baseUrl: gone.url, tokenUrl: `${exchange.server.url}/oauth2/token` })
  expect(await submit()).toMatchObject({
    outcome: 'throttled',
    detail: expect.stringMatching(/^not sent: .*ECONNREFUSED/),
  })
  expect(exchange.server.tokenRequests).toHaveLength(1)
})

test('an abort in flight leaves the outcome unknown, one before does not', async () => {
  const controller = new AbortController()
  exchange.server.script(() => controller.abort())
  expect(await submit(controller.signal)).toMatchObject({ outcome: 'unknown' })
  expect(await submit(controller.signal)).toMatchObject({ outcome: 'throttled' })
  expect(exchange.server.requests).toHaveLength(1)
})

test('a request that waits for a connection is not sent after its abort', async () => {
  await exchange.gateway.close?.()
  exchange.openGateway({ maxConcurrent: 1 })
  const controller = new AbortController()
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  exchange.server.script(
    async (response, request) => {
      arrive()
      await released
      answer(201, { id: 'transfer-1' })(response, request)
    },
    answer(201, { id: 'transfer-2' }),
  )
  const first = submit()
  await arrived
  const second = submit(controller.signal)
  await new Promise((resolve) => setImmediate(resolve))
  controller.abort()
  expect(await second).toMatchObject({ outcome: 'throttled', detail: 'not sent: aborted before it was sent' })
  release()
  expect(await first).toMatchObject({ outcome: 'accepted', remoteId: 'transfer-1' })
  expect(await submit()).toMatchObject({ outcome: 'accepted', remoteId: 'transfer-2' })
  expect(exchange.server.requests).toHaveLength(2)
})

test('a 401 is answered with a fresh token, the same key and the same bytes, once', async () => {
  exchange.server.script(answer(401), answer(201, { id: 'transfer-1' }))
  expect(await submit()).toMatchObject({ outcome: 'accepted' })
  expect(exchange.server.requests.map((request) => request.headers.authorization)).toEqual([
    'Bearer token-1',
    'Bearer token-2',
  ])
  expect(new Set(exchange.server.requests.map((request) => request.headers['idempotency-key']))).toEqual(
    new Set(['invoice-42']),
  )
  expect(exchange.server.requests[0]?.body).toBe(exchange.server.requests[1]?.body)
})

test.each([
  [401, { error: 'invalid_client' }, { outcome: 'unauthorized' }],
  [400, { error: 'invalid_client' }, { outcome: 'unauthorized' }],
  [429, '', { outcome: 'throttled', retryAfterMs: 3_000 }],
  [500, '', { outcome: 'throttled' }],
  [200, '<html>', { outcome: 'throttled' }],
  [200, { access_token: 'two words' }, { outcome: 'throttled' }],
])('a token endpoint that answers %i sends no transfer', async (status, body, expected) => {
  exchange.server.scriptTokens(answer(status, body, { 'retry-after': '3' }))
  expect(await submit()).toMatchObject(expected)
  expect(exchange.server.requests).toHaveLength(0)
})

test('credentials that cannot be read send no transfer', async () => {
  await exchange.gateway.close?.()
  exchange.openGateway({ credentials: () => Promise.reject(new Error('vault says: secret-in-message')) })
  const result = await submit()
  expect(result).toMatchObject({ outcome: 'throttled' })
  expect(JSON.stringify(result)).not.toContain('secret-in-message')
})

test('get returns an observation, undefined for a 404, and throws when the answer is unreadable', async () => {
  exchange.server.script(answer(200, { ...full, status: 'COMPLETED' }), answer(404, { code: 'not_found' }), answer(503))
  const options = { signal: never }
  expect(await exchange.gateway.get(accountId, 'transfer-1', options)).toMatchObject({
    remoteId: 'transfer-1',
    status: 'complete',
  })
  expect(await exchange.gateway.get(accountId, 'transfer-1', options)).toBeUndefined()
  const error = await exchange.gateway.get(accountId, 'transfer-1', options).catch((caught: unknown) => caught)
  expect(OutlayError.is(error, 'service_unavailable')).toBe(true)
  expect(exchange.server.requests).toHaveLength(3)
  expect(exchange.server.requests.every((request) => request.headers['idempotency-key'] === undefined)).toBe(true)
})

test('list reads one page of at most a hundred and follows its cursor', async () => {
  exchange.server.script(
    answer(200, {
      transfers: [full, { ...full, id: 'transfer-2', status: 'unheard of' }],
      pagination: { next: 'c 1' },
    }),
    answer(200, [full]),
  )
  const page = await exchange.gateway.list?.(accountId, { limit: 500, signal: never })
  expect(page?.observations.map((observation) => observation.remoteId)).toEqual(['transfer-1'])
  expect(page?.next).toBe('c 1')
  const last = await exchange.gateway.list?.(accountId, { limit: 50, cursor: 'c 1', signal: never })
  expect(last).toMatchObject({ observations: [{ remoteId: 'transfer-1' }], next: undefined })
  const queries = exchange.server.requests.map((request) => [...new URL(request.url, exchange.server.url).searchParams])
  expect(queries).toEqual([
    [['page[size]', '100']],
    [
      ['page[size]', '50'],
      ['page[after]', 'c 1'],
    ],
  ])
})

test('an id that would change the path is refused or encoded', async () => {
  await expect(exchange.gateway.get('..', 'x', { signal: never })).rejects.toMatchObject({ code: 'invalid_id' })
  exchange.server.script(answer(404, { code: 'not_found' }))
  await exchange.gateway.get(accountId, '../x?y', { signal: never })
  expect(exchange.server.requests[0]?.url).toBe(`/accounts/${accountId}/transfers/..%2Fx%3Fy`)
})

test("what a host adds to the catalog is read in the catalog's spelling", async () => {
  await exchange.gateway.close?.()
  exchange.openGateway({ catalog: createCatalog({ valueTypes: [{ name: 'EURC', kind: 'token', scale: 6 }] }) })
  const sent = { ...full, source: { ...full.source, value_type: 'eurc' } }
  exchange.server.script(answer(201, sent), answer(200, sent), answer(200, { transfers: [sent] }))
  const submitted = await submit()
  const read = await exchange.gateway.get(accountId, 'transfer-1', { signal: never })
  const listed = await exchange.gateway.list?.(accountId, { limit: 10, signal: never })
  const observations = [
    submitted.outcome === 'accepted' ? submitted.observation : undefined,
    read,
    ...(listed?.observations ?? []),
  ]
  expect(observations.map((observation) => observation?.transfer?.source.valueType)).toEqual(['EURC', 'EURC', 'EURC'])
})
