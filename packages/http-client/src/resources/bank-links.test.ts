import { afterEach, beforeEach, expect, test } from 'vitest'
import { answer, type ScriptedServer, startServer } from '../../test/scripted-server.ts'
import { type Client, createClient } from '../client.ts'
import type { BankLinkPaths } from './bank-links.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'

let server: ScriptedServer
let client: Client

const open = (bankLinkPaths?: BankLinkPaths) => {
  const credentials = { clientId: 'client', clientSecret: 'secret' }
  return createClient({ baseUrl: server.url, credentials, bankLinkPaths, wait: async () => {} })
}

beforeEach(async () => {
  server = await startServer()
  client = open()
})

afterEach(async () => {
  await client.close()
  await server.close()
})

const linkToken = { link_token: 'link-1', expiration: '2026-01-02T07:04:05Z', callback_url: 'https://example.com/cb' }

test('a link token is requested with the known data of the person', async () => {
  server.script(answer(200, linkToken))
  const person = { legalName: 'Ada Park', emailAddress: 'a@acme.test', phoneNumber: '+1', dateOfBirth: '1990-02-28' }
  expect(await client.bankLinks.createLinkToken(accountId, person)).toMatchObject({ linkToken: 'link-1' })
  expect(await client.bankLinks.createLinkToken(accountId)).toMatchObject({ expiration: '2026-01-02T07:04:05Z' })
  expect(server.requests.map(({ body }) => JSON.parse(body))).toEqual([
    { legal_name: 'Ada Park', email_address: 'a@acme.test', phone_number: '+1', date_of_birth: '1990-02-28' },
    {},
  ])
})

test.each<[BankLinkPaths, string, string]>([
  [{}, 'banklink/link_token', 'financial-institutions/register-account'],
  [{ segment: 'acme' }, 'acme/link_token', 'financial-institutions/register-account'],
  [{ registration: 'account' }, 'banklink/link_token', 'banklink/register-account'],
  [
    { segment: 'acme', linkTokens: 'financial-institutions' },
    'financial-institutions/acme/link_token',
    'financial-institutions/register-account',
  ],
])('with the paths %o they are at %s and %s', async (paths, linkTokens, registration) => {
  await client.close()
  client = open(paths)
  server.script(answer(200, { ...linkToken, financial_institution_id: 'fi' }))
  await client.bankLinks.createLinkToken(accountId)
  await client.bankLinks.registerAccount(accountId, { publicToken: 'public-1' })
  expect(server.requests.map(({ url }) => url)).toEqual([
    `/accounts/${accountId}/${linkTokens}`,
    `/accounts/${accountId}/${registration}`,
  ])
})

test('a segment that would change the path is refused at once', () => {
  expect(() => open({ segment: '../transfers' })).toThrow('segment')
})

test('linked accounts are registered once per key', async () => {
  server.script(answer(503), answer(201, { financial_institution_id: 'fi' }))
  const request = { publicToken: 'public-1', customerWebhookUrl: 'https://example.com/notices' }
  expect(await client.bankLinks.registerAccount(accountId, request, { idempotencyKey: 'link-7' })).toEqual({
    financialInstitutionId: 'fi',
    financialInstitutionIds: ['fi'],
    idempotencyKey: 'link-7',
  })
  expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['link-7', 'link-7'])
  expect(JSON.parse(server.requests[1]?.body ?? '')).toEqual({
    public_token: 'public-1',
    customer_webhook_url: 'https://example.com/notices',
  })
})

test('a registration whose answer has no id is outcome_unknown and has its key', async () => {
  server.script(answer(200, {}))
  const registered = client.bankLinks.registerAccount(accountId, { publicToken: 'p' }, { idempotencyKey: 'link-8' })
  await expect(registered).rejects.toMatchObject({ code: 'outcome_unknown', cause: { idempotencyKey: 'link-8' } })
})

test('an invalid request is refused before anything is sent', async () => {
  await expect(client.bankLinks.createLinkToken(accountId, { dateOfBirth: '1990-02-30' })).rejects.toMatchObject({
    code: 'invalid_request',
    field: 'dateOfBirth',
  })
  await expect(client.bankLinks.registerAccount(accountId, { publicToken: '' })).rejects.toMatchObject({
    code: 'missing_field',
    field: 'publicToken',
  })
  expect(server.requests).toEqual([])
})

test('a service that repeats the public token in its refusal does not put it into the error', async () => {
  server.script((response, { body }) =>
    answer(422, { code: 'invalid_request', detail: `no: ${body}` })(response, {
      body,
      method: '',
      url: '',
      headers: {},
    }),
  )
  const refused = await client.bankLinks
    .registerAccount(accountId, { publicToken: 'public-canary' })
    .catch((error: unknown) => error)
  expect(String(refused)).toContain('[redacted]')
  expect(String(refused)).not.toContain('public-canary')
})
