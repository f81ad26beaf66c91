import { afterEach, beforeEach, expect, test } from 'vitest'
import { accountId, everyMethod, id } from '../test/every-method.ts'
import { answer, type ScriptedServer, startServer } from '../test/scripted-server.ts'
import { type Client, createClient } from './client.ts'

/** Every endpoint of the specification. The first word marks those that require an idempotency key. */
const specified = [
  'create POST /accounts/{account}/transfers',
  'GET /accounts/{account}/transfers',
  'GET /accounts/{account}/transfers/{id}',
  'GET /accounts/{account}',
  'create POST /accounts',
  'create POST /accounts/{account}/addresses/external',
  'GET /accounts/{account}/addresses',
  'GET /addresses',
  'PATCH /addresses/{id}',
  'GET /balances',
  'create POST /accounts/{account}/automations',
  'GET /accounts/{account}/automations',
  'GET /accounts/{account}/automations/{id}',
  'GET /accounts/{account}/financial-institutions',
  'create POST /accounts/{account}/financial-institutions/external',
  'GET /accounts/{account}/financial-institutions/{id}',
  'GET /accounts/{account}/financial-institutions/{id}/status',
  'create POST /accounts/{account}/financial-institutions/{id}/update-link-token',
  'create POST /accounts/{account}/banklink/link_token',
  'create POST /accounts/{account}/financial-institutions/banklink/link_token',
  'create POST /accounts/{account}/financial-institutions/register-account',
]

/** What the specification leaves open and the service settles. */
const settled = [
  'GET /accounts',
  'GET /accounts/{account}/addresses/{id}',
  'GET /accounts/{account}/addresses/{id}/balance',
  'GET /accounts/{account}/balances',
  'POST /accounts/{account}/transfers/{id}/cancel',
  'PATCH /accounts/{account}/automations/{id}',
  'create POST /accounts/{account}/banklink/register-account',
  'create POST /accounts/{account}/quotes',
  'GET /accounts/{account}/quotes',
  'GET /accounts/{account}/quotes/{id}',
  'create POST /accounts/{account}/webhooks',
  'GET /accounts/{account}/webhooks',
  'GET /accounts/{account}/webhooks/subscriptions/{id}',
  'PATCH /accounts/{account}/webhooks/subscriptions/{id}',
  'DELETE /accounts/{account}/webhooks/subscriptions/{id}',
  'create POST /accounts/{account}/webhooks/subscriptions/{id}/rotate',
  'GET /accounts/{account}/webhooks/event_types',
  'GET /accounts/{account}/webhooks/deliveries',
  'POST /accounts/{account}/webhooks/events/{id}/resend',
]

/** What only the public contract has. */
const published = [
  'create POST /accounts/{account}/addresses/internal',
  'create POST /accounts/{account}/addresses/{id}/update-link-token',
]

let server: ScriptedServer
const clients: Client[] = []

beforeEach(async () => {
  server = await startServer()
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await server.close()
})

const open = (options: Partial<Parameters<typeof createClient>[0]> = {}): Client => {
  const client = createClient({
    baseUrl: server.url,
    credentials: { clientId: 'client', clientSecret: 'secret' },
    retries: { times: 0 },
    ...options,
  })
  clients.push(client)
  return client
}

/** What the server got, ids replaced by what they are. */
const received = (): readonly string[] => {
  const seen = server.requests.map(({ method, url, headers }) => {
    const where = url.replace(/\?.*/, '').replace(accountId, '{account}').replace(id, '{id}')
    return `${headers['idempotency-key'] === undefined ? '' : 'create '}${method} ${where}`
  })
  return [...new Set(seen)].sort()
}

test('every method of the client is among the calls below', () => {
  const client = open()
  const methods = Object.entries(client).filter(([, resource]) => typeof resource === 'object')
  expect(methods.map(([name, resource]) => [name, Object.keys(resource).sort()]).sort()).toEqual(
    Object.entries(everyMethod)
      .map(([name, resource]) => [name, Object.keys(resource).sort()])
      .sort(),
  )
})

test('the client covers every endpoint of the specification, with a key on creates and nowhere else', async () => {
  server.script(answer(200, {}))
  const older = open({ bankLinkPaths: { linkTokens: 'financial-institutions', registration: 'account' } })
  const bankLinks = Object.values(everyMethod['bankLinks'] ?? {})
  const all = Object.values(everyMethod).flatMap((resource) => Object.values(resource))
  // The method may refuse an empty answer, but its request has been sent.
  const client = open()
  await Promise.allSettled([...all.map((call) => call(client)), ...bankLinks.map((call) => call(older))])
  expect(received()).toEqual([...specified, ...settled, ...published].sort())
})
