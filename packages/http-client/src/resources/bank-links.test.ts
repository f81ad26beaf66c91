import { expect, test } from 'vitest'
import { scriptedExchange } from '../../test/scripted-exchange.ts'
import { answer } from '../../test/scripted-server.ts'
import type { BankLinkPaths } from './bank-links.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const exchange = scriptedExchange()

const linkToken = { link_token: 'link-1', expiration: '2026-01-02T07:04:05Z', callback_url: 'https://example.com/cb' }

test('a link token is requested with the known data of the person', async () => {
  exchange.server.script(answer(200, linkToken))
  const person = { legalName: 'Ada Park', emailAddress: 'a@acme.test', phoneNumber: '+1', dateOfBirth: '1990-02-28' }
  expect(await exchange.client.bankLinks.createLinkToken(accountId, person)).toMatchObject({ linkToken: 'link-1' })
  expect(await exchange.client.bankLinks.createLinkToken(accountId)).toMatchObject({
    expiration: '2026-01-02T07:04:05Z',
  })
  expect(exchange.server.requests.map(({ body }) => JSON.parse(body))).toEqual([
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
  exchange.openClient({ bankLinkPaths: paths })
  exchange.server.script(answer(200, { ...linkToken, financial_institution_id: 'fi' }))
  await exchange.client.bankLinks.createLinkToken(accountId)
  await exchange.client.bankLinks.registerAccount(accountId, { publicToken: 'public-1' })
  expect(exchange.server.requests.map(({ url }) => url)).toEqual([
    `/accounts/${accountId}/${linkTokens}`,
    `/accounts/${accountId}/${registration}`,
  ])
})

test('a segment that would change the path is refused at once', () => {
  expect(() => exchange.openClient({ bankLinkPaths: { segment: '../transfers' } })).toThrow('segment')
})

test('linked accounts are registered once per key', async () => {
  exchange.server.script(answer(503), answer(201, { financial_institution_id: 'fi' }))
  const request = { publicToken: 'public-1', customerWebhookUrl: 'https://example.com/notices' }
  expect(await exchange.client.bankLinks.registerAccount(accountId, request, { idempotencyKey: 'link-7' })).toEqual({
    financialInstitutionId: 'fi',
    financialInstitutionIds: ['fi'],
    idempotencyKey: 'link-7',
  })
  expect(exchange.server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(['link-7', 'link-7'])
  expect(JSON.parse(exchange.server.requests[1]?.body ?? '')).toEqual({
    public_token: 'public-1',
    customer_webhook_url: 'https://example.com/notices',
  })
})

test('a registration whose answer has no id is outcome_unknown and has its key', async () => {
  exchange.server.script(answer(200, {}))
  const registered = exchange.client.bankLinks.registerAccount(
    accountId,
    { publicToken: 'p' },
    { idempotencyKey: 'link-8' },
  )
  await expect(registered).rejects.toMatchObject({ code: 'outcome_unknown', cause: { idempotencyKey: 'link-8' } })
})

test('an invalid request is refused before anything is sent', async () => {
  await expect(
    exchange.client.bankLinks.createLinkToken(accountId, { dateOfBirth: '1990-02-30' }),
  ).rejects.toMatchObject({
    code: 'invalid_request',
    field: 'dateOfBirth',
  })
  await expect(exchange.client.bankLinks.registerAccount(accountId, { publicToken: '' })).rejects.toMatchObject({
    code: 'missing_field',
    field: 'publicToken',
  })
  expect(exchange.server.requests).toEqual([])
})

test('a service that repeats the public token in its refusal does not put it into the error', async () => {
  exchange.server.script((response, { body }) =>
    answer(422, { code: 'invalid_request', detail: `no: ${body}` })(response, {
      body,
      method: '',
      url: '',
      headers: {},
    }),
  )
  const refused = await exchange.client.bankLinks
    .registerAccount(accountId, { publicToken: 'public-canary' })
    .catch((error: unknown) => error)
  expect(String(refused)).toContain('[redacted]')
  expect(String(refused)).not.toContain('public-canary')
})
