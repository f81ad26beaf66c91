import { createHmac } from 'node:crypto'
import { createCatalog } from '@outlay/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { accountId, everyMethod, id } from '../test/every-method.ts'
import { type ContractServer, startContractServer } from '../test/public-contract/contract-server.ts'
import * as examples from '../test/public-contract/examples.ts'
import { type Client, type ClientOptions, createClient } from './client.ts'
import { verifyWebhook } from './webhooks.ts'

/** A part of what a call returns; `undefined` for nothing. */
type Expected = object | undefined

/** What each call returns by the two documents of the contract. One value stands for both. */
const results: Readonly<Record<string, readonly [Expected, Expected?]>> = {
  'accounts.create': [{ account: undefined }, { account: { businessName: 'Acme', created: examples.summary.created } }],
  'accounts.get': [{ id: accountId, businessName: 'Acme', status: 'complete', updated: examples.summary.updated }],
  'accounts.list': [[accountId]],
  'addresses.createExternal': [{ address: undefined }, { address: { type: 'external', needsUpdate: true } }],
  'addresses.createInternal': [{ address: undefined }, { address: { type: 'internal', isPrimary: true } }],
  'addresses.createUpdateLinkToken': [{ linkToken: 'link-1', callbackUrl: examples.linkToken.callback_url }],
  'addresses.get': [
    { type: 'internal', isPrimary: true },
    { type: 'external', routingNumber: '021000021' },
  ],
  'addresses.list': [{ items: [{ type: 'internal' }, { type: 'external' }], unreadable: [] }],
  'addresses.iterate': [[{ type: 'internal' }, { type: 'external' }]],
  'addresses.update': [{ type: 'external', lastUpdated: examples.bankAddress.last_updated }],
  'automations.create': [{ automation: { status: 'pending' } }, { automation: { status: 'active' } }],
  'automations.get': [{ createdAt: undefined }, { brand: { accountId }, destination: { valueType: 'SBC' } }],
  'automations.list': [{ items: [{ status: 'pending' }], unreadable: [] }, { items: [{ status: 'active' }] }],
  'automations.iterate': [[{ status: 'pending' }], [{ status: 'active' }]],
  'balances.get': [{ balance: { value: '7.5', currency: 'USDC' } }],
  'bankLinks.createLinkToken': [{ linkToken: 'link-1', expiration: examples.linkToken.expiration }],
  'bankLinks.registerAccount': [{ addressId: examples.linked.address_id }],
  'financialInstitutions.createExternal': [
    { financialInstitution: undefined },
    { financialInstitution: { name: 'Payroll' } },
  ],
  'financialInstitutions.get': [{ bankDetails: { routingNumber: '021000021' } }],
  'financialInstitutions.list': [{ items: [{ name: 'Payroll' }], unreadable: [] }],
  'financialInstitutions.iterate': [[{ name: 'Payroll' }]],
  'financialInstitutions.getStatus': [{ needsUpdate: true }],
  'financialInstitutions.createUpdateLinkToken': [
    { linkToken: 'link-1', callbackUrl: examples.linkToken.callback_url },
  ],
  'transfers.create': [{ transfer: undefined }, { transfer: { source: { valueType: 'dUSD' } } }],
  'transfers.get': [
    { status: 'processing', amount: { currency: 'USD' }, destination: { wireMemo: 'invoice 7' } },
    { status: 'failed', failure: { code: 'compliance', detail: 'Refused by compliance.' } },
  ],
  'transfers.list': [
    { items: [{ status: 'processing' }], unreadable: [] },
    {
      items: [
        { source: { valueType: 'MXNe' }, failure: { detail: 'nonce too low', retriable: true } },
        { source: { valueType: 'USD+' }, failure: { code: 'chain', retriable: true } },
        { failure: { type: 'returned', code: 'R03', retriable: false } },
        { failure: { code: 'compliance', retriable: true } },
      ],
      unreadable: [],
    },
  ],
  'transfers.iterate': [[{ status: 'processing' }], examples.failures.map(() => ({ status: 'failed' }))],
  'webhooks.create': [{ secret: examples.sharedSecret, subscription: { eventTypes: ['transfer.*'] } }],
  'webhooks.get': [{ eventTypes: ['transfer.*'], status: 'active' }],
  'webhooks.list': [[{ eventTypes: ['transfer.*'] }]],
  'webhooks.update': [{ status: 'archived' }],
  'webhooks.remove': [undefined],
  'webhooks.listEventTypes': [['transfer.completed']],
  'webhooks.listDeliveries': [
    {
      items: [
        { attemptNumber: 1, lastStatus: 503 },
        { attemptNumber: 2, lastStatus: 200 },
      ],
    },
  ],
  'webhooks.iterateDeliveries': [[{ attemptNumber: 1 }, { attemptNumber: 2 }]],
  'webhooks.resend': [undefined],
}

/** Calls that the public contract does not have: `GET /addresses`, `GET /balances`, and what the service of this project adds. */
const absent = [
  'addresses.listAll',
  'automations.update',
  'balances.list',
  'balances.listAll',
  'quotes.create',
  'quotes.get',
  'quotes.iterate',
  'quotes.list',
  'transfers.cancel',
  'webhooks.rotate',
]

/** Calls that one request cannot make by both contracts. */
const contradictions = [
  'accounts.create',
  'addresses.update',
  'bankLinks.createLinkToken',
  'bankLinks.registerAccount',
  'webhooks.create',
  'webhooks.get',
]

const calls = Object.entries(everyMethod).flatMap(([resource, methods]) =>
  Object.entries(methods).map(([method, call]) => [`${resource}.${method}`, call] as const),
)

let server: ContractServer
const clients: Client[] = []

beforeEach(async () => {
  server = await startContractServer()
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await server.close()
})

const open = (options: Partial<ClientOptions> = {}): Client => {
  const client = createClient({
    baseUrl: server.url,
    credentials: { clientId: 'client', clientSecret: 'secret' },
    retries: { times: 0 },
    ...options,
  })
  clients.push(client)
  return client
}

/** Makes every call by a document, and names those that the server refused. */
const listRefused = async (options: Partial<ClientOptions>, document: 'published' | 'own' = 'published') => {
  server.answerBy(document)
  const client = open(options)
  const refused: string[] = []
  for (const [name, call] of calls) {
    const before = server.violations.length
    const [result] = await Promise.allSettled([call(client)])
    if (result.status === 'rejected' || server.violations.length > before) refused.push(name)
  }
  return refused.sort()
}

test('each call has a result, or is named as absent', () => {
  expect([...Object.keys(results), ...absent].sort()).toEqual(calls.map(([name]) => name).sort())
})

describe.each(['published', 'own'] as const)('by the %s document', (document) => {
  test.each(calls.filter(([name]) => name in results))('%s is accepted and read', async (name, call) => {
    server.answerBy(document)
    const result = await call(open({ dialect: 'public' }))
    expect(server.violations).toEqual([])
    const [published, own = published] = results[name] ?? []
    const expected = document === 'own' ? own : published
    if (expected === undefined) expect(result).toBeUndefined()
    else expect(result).toMatchObject(expected)
  })

  test('in its dialect, nothing is refused that is not absent', async () => {
    expect(await listRefused({ dialect: 'public' }, document)).toEqual(absent)
  })

  test('in the dialect of the specification, nothing is refused that is not a contradiction or absent', async () => {
    expect(await listRefused({}, document)).toEqual([...absent, ...contradictions].sort())
  })
})

test.each(absent)('%s is refused as a path that does not exist, and never as a missing resource', async (name) => {
  const call = calls.find(([one]) => one === name)?.[1]
  await expect(call?.(open({ dialect: 'public' }))).rejects.toMatchObject({
    code: expect.stringMatching(/not_found|rejected_by_service/),
  })
})

test('the older path of registrations returns an institution', async () => {
  const { bankLinks } = open({ dialect: 'public', bankLinkPaths: { registration: 'financial-institutions' } })
  expect(await bankLinks.registerAccount(accountId, { publicToken: 'public-1' })).toMatchObject({
    addressId: undefined,
    financialInstitutionId: examples.linkedInstitution.financial_institution_id,
  })
  expect(server.violations).toEqual([])
})

test('a bank account without wire needs neither name nor postal addresses', async () => {
  const account = {
    owner: 'Ada',
    accountNumber: '1234567890',
    routingNumber: '021000021',
    accountType: 'checking',
  } as const
  const request = { ...account, transferTypes: ['ach_credit'], ownership: 'customer-owned' } as const
  await open({ dialect: 'public' }).addresses.createExternal(accountId, request)
  expect(server.violations).toEqual([])
  for (const [options, transferTypes] of [
    [{ dialect: 'public' }, ['wire']],
    [{}, ['ach_credit']],
  ] as const)
    await expect(
      open(options).addresses.createExternal(accountId, { ...account, transferTypes: [...transferTypes] }),
    ).rejects.toMatchObject({ code: 'missing_field' })
})

test('all that the contract lets a request have is accepted', async () => {
  const { accounts, addresses, automations, bankLinks, transfers, webhooks } = open({ dialect: 'public' })
  const person = {
    name: 'Ada',
    ssn: '123-45-6789',
    address: { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' },
  }
  await accounts.create(accountId, {
    businessName: 'Acme',
    ein: '12-3456789',
    address: person.address,
    phoneNumber: '+1',
    email: 'a@acme.test',
    website: 'https://acme.test',
    ultimateBeneficialOwners: [person],
    businessController: person,
    tosAttestation: { acceptedAt: '2026-04-02T03:04:05Z', ip: '192.0.2.1', userAgent: 'browser', version: '1' },
    accountType: 'custodial',
    entityType: 'business',
  })
  await addresses.update(accountId, id, {
    name: 'Payroll',
    bankAddress: person.address,
    beneficiaryAddress: person.address,
  })
  await automations.create(accountId, {
    name: 'Treasury',
    source: { valueType: 'USD' },
    destination: { addressId: id, valueType: 'USDC', transferType: 'base' },
    brand: { accountId },
  })
  const link = { transferTypes: ['ach_debit', 'ach_credit'], customerWebhookUrl: 'https://example.com/notices' }
  await bankLinks.createLinkToken(accountId, {
    ...link,
    legalName: 'Ada',
    redirectUri: 'https://example.com/back',
    androidPackageName: 'com.example',
  })
  await bankLinks.registerAccount(accountId, { ...link, publicToken: 'public-1' })
  await transfers.create(accountId, {
    amount: { value: '1', currency: 'USD' },
    source: { addressId: id, valueType: 'USDC', transferType: 'base' },
    destination: { addressId: id, valueType: 'USD', transferType: 'wire', wireMemo: 'invoice 7' },
    note: 'hello',
  })
  await webhooks.create(accountId, {
    url: 'https://example.com/hook',
    eventTypes: ['transfer.*', 'transfer.completed'],
  })
  await webhooks.update(accountId, id, { status: 'archived', eventTypes: ['*'] })
  for (const page of [{ pageSize: 100, after: 'next' }, { before: 'prev' }]) await transfers.list(accountId, page)
  expect(server.violations).toEqual([])
})

test('one token moves between two chains, which only this contract has', async () => {
  const move = {
    amount: { value: '1', currency: 'USDC' },
    source: { addressId: id, valueType: 'USDC', transferType: 'base' },
    destination: { addressId: id, valueType: 'USDC', transferType: 'polygon' },
  }
  const catalog = createCatalog({ valueTypes: [{ name: 'MXNe', kind: 'token', scale: 6, peg: 'MXN' }] })
  for (const options of [{}, { catalog }]) {
    await open({ dialect: 'public', ...options }).transfers.create(accountId, move)
    await expect(open(options).transfers.create(accountId, move)).rejects.toMatchObject({ code: 'swap_chain_mismatch' })
  }
  expect(server.violations).toEqual([])
})

test('what only the other contract has is refused before anything is sent', async () => {
  const own = open({ dialect: 'public' })
  const specified = open()
  const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  const refused = [
    own.webhooks.update(accountId, id, { status: 'disabled' }),
    specified.webhooks.update(accountId, id, { status: 'archived' }),
    specified.addresses.update(accountId, id, { bankAddress: place }),
  ]
  for (const call of refused) await expect(call).rejects.toMatchObject({ code: 'invalid_request', status: undefined })
  expect(server.violations).toEqual([])
})

test.each<[number, unknown, string, string]>([
  [400, { type: 'error', code: 'invalid_address', detail: 'No.', status: 400, values: ['0x0'] }, 'invalid_address', ''],
  [
    409,
    {
      type: 'conflict',
      code: 'address_archived',
      detail: 'No.',
      status: 409,
      values: [{ field: 'source', message: 'is archived' }],
    },
    'address_archived',
    'source',
  ],
  [
    422,
    {
      errors: [
        { code: 'insufficient_balance', status: '422', title: 'No', detail: 'No.', source: { pointer: '/amount' } },
      ],
    },
    'insufficient_balance',
    'amount',
  ],
  [400, { type: 'error', detail: 'No.', status: 400, values: ['invalid_address'] }, 'rejected_by_service', ''],
  [422, { type: 'insufficient_balance', message: 'No.' }, 'insufficient_balance', ''],
  [
    422,
    { type: 'invalid_request_error', message: 'No.', code: 'invalid_account_number' },
    'invalid_account_number',
    '',
  ],
  [401, { errors: [{ code: 'unauthorized', status: '401', title: 'No', detail: 'No.' }] }, 'unauthenticated', ''],
])('an error of status %i with the body %j is read', async (status, body, code, field) => {
  server.override({ status, body }, { status, body })
  const failed = everyMethod['transfers']?.['create']?.(open({ dialect: 'public' }))
  await expect(failed).rejects.toMatchObject({ code, status, issues: field === '' ? [] : [{ field }] })
})

test('an error that says 404 is a missing resource', async () => {
  const errors = [{ code: 'not_found', status: '404', title: 'Not found', detail: 'No such transfer.' }]
  server.override({ status: 404, body: { errors } })
  expect(await open({ dialect: 'public' }).transfers.get(accountId, id)).toBeUndefined()
})

test('a webhook that is signed by the scheme of the contract is genuine, and any other is not', async () => {
  const { secret } = await open({ dialect: 'public' }).webhooks.create(accountId, { url: 'https://example.com/hook' })
  const body = JSON.stringify({ type: 'transfer.completed', data: examples.transfer })
  const sign = (text: string, key: Buffer) => ({
    'idempotency-key': '0f6f1c1e-6a1c-4c5f-9d0e-2f6a4b8c7d10',
    'x-request-signature-sha-256': createHmac('sha256', key).update(text).digest('hex'),
  })
  const key = Buffer.from(examples.sharedSecret, 'base64url')
  expect(examples.sharedSecret).toMatch(/[-_]/)
  expect(verifyWebhook(body, sign(body, key), secret ?? '')).toMatchObject({
    id: '0f6f1c1e-6a1c-4c5f-9d0e-2f6a4b8c7d10',
    type: 'transfer.completed',
  })
  for (const headers of [sign(`${body} `, key), sign(body, Buffer.from(`${examples.sharedSecret}x`, 'base64url')), {}])
    expect(() => verifyWebhook(body, headers, secret ?? '')).toThrow('not genuine')
})
