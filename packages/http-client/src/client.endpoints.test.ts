import { afterEach, beforeEach, expect, test } from 'vitest'
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

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const id = '01BX5ZZKBKACTAV9WEVGEMMVS0'

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

const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
const bankAccount = {
  owner: 'Ada',
  accountNumber: '1234567890',
  routingNumber: '021000021',
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
} as const
const leg = { addressId: id, valueType: 'USDC', transferType: 'base' }
const bank = { addressId: 'bank', valueType: 'USD', transferType: 'wire' }
const business = {
  businessName: 'Acme',
  ein: '12-3456789',
  address: place,
  phoneNumber: '+15125550100',
  email: 'a@acme.test',
  website: 'https://acme.test',
  ultimateBeneficialOwners: [],
}

const first = async (iterable: AsyncIterable<unknown>) => {
  for await (const item of iterable) return item
  return undefined
}

/** One call of each method, with arguments that pass the client's own checks. */
const everyMethod: Readonly<Record<string, Readonly<Record<string, (client: Client) => Promise<unknown>>>>> = {
  accounts: {
    create: ({ accounts }) => accounts.create(accountId, business),
    get: ({ accounts }) => accounts.get(accountId),
    list: ({ accounts }) => accounts.list(accountId),
  },
  addresses: {
    createExternal: ({ addresses }) =>
      addresses.createExternal(accountId, { ...bankAccount, name: 'Payroll', transferTypes: ['wire'] }),
    get: ({ addresses }) => addresses.get(accountId, id),
    list: ({ addresses }) => addresses.list(accountId),
    iterate: ({ addresses }) => first(addresses.iterate(accountId)),
    listAll: ({ addresses }) => addresses.listAll(accountId),
    update: ({ addresses }) => addresses.update(accountId, id, { transferTypes: ['polygon'] }),
  },
  automations: {
    create: ({ automations }) =>
      automations.create(accountId, { name: 'Treasury', source: { valueType: 'USD' }, destination: leg }),
    get: ({ automations }) => automations.get(accountId, id),
    list: ({ automations }) => automations.list(accountId),
    iterate: ({ automations }) => first(automations.iterate(accountId)),
    update: ({ automations }) => automations.update(accountId, id, { status: 'archived' }),
  },
  balances: {
    list: ({ balances }) => balances.list(accountId),
    listAll: ({ balances }) => balances.listAll(accountId),
    get: ({ balances }) => balances.get(accountId, id, leg),
  },
  bankLinks: {
    createLinkToken: ({ bankLinks }) => bankLinks.createLinkToken(accountId),
    registerAccount: ({ bankLinks }) => bankLinks.registerAccount(accountId, { publicToken: 'public-1' }),
  },
  financialInstitutions: {
    createExternal: ({ financialInstitutions }) => financialInstitutions.createExternal(accountId, bankAccount),
    get: ({ financialInstitutions }) => financialInstitutions.get(accountId, id),
    list: ({ financialInstitutions }) => financialInstitutions.list(accountId),
    iterate: ({ financialInstitutions }) => first(financialInstitutions.iterate(accountId)),
    getStatus: ({ financialInstitutions }) => financialInstitutions.getStatus(accountId, id),
    createUpdateLinkToken: ({ financialInstitutions }) => financialInstitutions.createUpdateLinkToken(accountId, id),
  },
  transfers: {
    create: ({ transfers }) =>
      transfers.create(accountId, { amount: { value: '1', currency: 'USD' }, source: leg, destination: bank }),
    get: ({ transfers }) => transfers.get(accountId, id),
    cancel: ({ transfers }) => transfers.cancel(accountId, id),
    list: ({ transfers }) => transfers.list(accountId),
    iterate: ({ transfers }) => first(transfers.iterate(accountId)),
  },
  webhooks: {
    create: ({ webhooks }) => webhooks.create(accountId, { url: 'https://example.com/hook' }),
    get: ({ webhooks }) => webhooks.get(accountId, id),
    list: ({ webhooks }) => webhooks.list(accountId),
    update: ({ webhooks }) => webhooks.update(accountId, id, { status: 'disabled' }),
    rotate: ({ webhooks }) => webhooks.rotate(accountId, id),
    remove: ({ webhooks }) => webhooks.remove(accountId, id),
    listEventTypes: ({ webhooks }) => webhooks.listEventTypes(accountId),
    listDeliveries: ({ webhooks }) => webhooks.listDeliveries(accountId),
    iterateDeliveries: ({ webhooks }) => first(webhooks.iterateDeliveries(accountId)),
    resend: ({ webhooks }) => webhooks.resend(accountId, id),
  },
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
  expect(received()).toEqual([...specified, ...settled].sort())
})
