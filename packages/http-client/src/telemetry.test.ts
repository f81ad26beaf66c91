import type { Telemetry } from '@outlay/core'
import { recordingTelemetry } from '@outlay/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { answer, reset, type ScriptedServer, startServer } from '../test/scripted-server.ts'
import { createClient } from './client.ts'
import { templateOf } from './telemetry.ts'

let server: ScriptedServer

beforeEach(async () => {
  server = await startServer()
})

afterEach(() => server.close())

const open = (telemetry?: Telemetry) =>
  createClient({
    baseUrl: server.url,
    credentials: { clientId: 'client', clientSecret: 'secret' },
    retries: { times: 1, baseMs: 1 },
    telemetry,
  })

describe('a client with telemetry', () => {
  it('propagates the context of each request, and records its result', async () => {
    server.script(answer(200, { accounts: [] }))
    const telemetry = recordingTelemetry()
    await using client = open(telemetry)
    await client.accounts.list('acme')
    const [token, list] = telemetry.spans
    expect([token?.name, list?.name]).toEqual(['POST /oauth2/token', 'GET /accounts'])
    expect(server.tokenRequests[0]?.headers['traceparent']).toBe(token?.traceparent)
    expect(server.requests[0]?.headers['traceparent']).toBe(list?.traceparent)
    expect(list).toMatchObject({ options: { kind: 'client' }, errors: [] })
    expect(list?.attributes).toEqual({
      'http.request.method': 'GET',
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(server.url).port),
      'url.template': '/accounts',
      'http.response.status_code': 200,
      'error.type': undefined,
    })
  })

  it('does not record the path of a token endpoint that may differ by account', async () => {
    server.script(answer(200, { accounts: [] }))
    const telemetry = recordingTelemetry()
    const baseUrl = () => server.url
    await using client = createClient({
      baseUrl,
      credentials: { clientId: 'client', clientSecret: 'secret' },
      limits: { concurrency: 1 },
      telemetry,
    })
    await client.accounts.list('acme')
    expect(telemetry.spans.map(({ name }) => name)).toEqual(['POST {token_endpoint}', 'GET /accounts'])
    expect(server.requests[0]?.headers['traceparent']).toBe(telemetry.spans[1]?.traceparent)
  })

  it('makes a span of each attempt', async () => {
    server.script(reset, answer(404, { code: 'not_found' }))
    const telemetry = recordingTelemetry()
    await using client = open(telemetry)
    expect(await client.transfers.get('acme', '01J0000000000000000000000A')).toBeUndefined()
    const attempts = telemetry.spans.filter(({ name }) => name === 'GET /accounts/{account_id}/transfers/{id}')
    expect(attempts.map(({ errors }) => errors)).toEqual([['connection'], ['404']])
  })

  it('sends no context when nothing records one', async () => {
    server.script(answer(200, { accounts: [] }))
    const telemetry = recordingTelemetry()
    await using client = open({
      ...telemetry,
      span: (name, options, work) => telemetry.span(name, options, (span) => work({ ...span, traceparent: undefined })),
    })
    await client.accounts.list('acme')
    expect(server.requests[0]?.headers).not.toHaveProperty('traceparent')
  })
})

it('a client without telemetry sends no context', async () => {
  server.script(answer(200, { accounts: [] }))
  await using client = open()
  await client.accounts.list('acme')
  expect(server.requests[0]?.headers).not.toHaveProperty('traceparent')
})

it.each([
  ['/accounts/acme/transfers', '/accounts/{account_id}/transfers'],
  ['/accounts/acme/transfers/01J0000000000000000000000A', '/accounts/{account_id}/transfers/{id}'],
  ['/accounts/acme/transfers?page%5Bsize%5D=10&status=failed', '/accounts/{account_id}/transfers'],
  ['/accounts/acme/webhooks/event_types', '/accounts/{account_id}/webhooks/event_types'],
  ['/addresses/A%2FB', '/addresses/{id}'],
])('%s is one of %s', (path, template) => {
  expect(templateOf({ accountId: 'acme', method: 'GET', path })).toBe(template)
})
