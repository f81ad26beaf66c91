import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { answer, reset, type ScriptedServer, type Step, startServer } from '../test/scripted-server.ts'
import { createClient } from './client.ts'
import { httpGateway } from './gateway.ts'

const canaries = {
  clientSecret: 'canary-client-secret',
  token: 'canary-access-token',
  accountNumber: '9876543210123',
  routingNumber: '021000021',
  owner: 'Canary Lovelace',
  street: '1 Canary Street',
  publicToken: 'canary-public-token',
  dateOfBirth: '1987-06-05',
  basic: Buffer.from('client:canary-client-secret').toString('base64'),
}

let server: ScriptedServer

beforeEach(async () => {
  server = await startServer()
})

afterEach(() => server.close())

const options = () => ({
  baseUrl: server.url,
  credentials: { clientId: 'client', clientSecret: canaries.clientSecret },
})

// The most careless service: it returns everything that it receives in every member of an error.
const echo =
  (status: number): Step =>
  (response, request) => {
    const text = `refused ${JSON.stringify(request.headers)} ${request.body}`
    const error = { code: 'refused', detail: text, message: text, source: { pointer: `/${text}` } }
    answer(status, { ...error, title: text, errors: [error], error })(response, request)
  }

const expectNoCanary = (value: unknown) => {
  const text = `${inspect(value, { depth: 10, showHidden: true })} ${JSON.stringify(value)} ${String(value)}`
  for (const canary of Object.values(canaries)) expect(text).not.toContain(canary)
}

const place = { streetLine1: canaries.street, city: 'Austin', state: 'TX', zip: '78701' }

const bankAccount = {
  owner: canaries.owner,
  accountNumber: canaries.accountNumber,
  routingNumber: canaries.routingNumber,
  accountType: 'checking',
  bankAddress: place,
  beneficiaryAddress: place,
} as const

const attempts = async (): Promise<unknown[]> => {
  const client = createClient({ ...options(), retries: { times: 0 } })
  const gateway = httpGateway(options())
  const signal = new AbortController().signal
  const request = {
    amount: { value: '1.00', currency: 'USD' },
    source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: 'bank', valueType: 'USD', transferType: 'wire' },
  }
  const address = { ...bankAccount, kind: 'bank_account', name: 'Payroll', transferTypes: ['wire'] } as const
  const registration = { transferId: 't', accountId: 'account', idempotencyKey: 'key', attempt: 1, address }
  const settled = await Promise.allSettled([
    client.transfers.create('account', request),
    client.addresses.createExternal('account', { ...bankAccount, name: 'Payroll', transferTypes: ['wire'] }),
    client.financialInstitutions.createExternal('account', bankAccount),
    client.bankLinks.registerAccount('account', { publicToken: canaries.publicToken }),
    client.bankLinks.createLinkToken('account', { dateOfBirth: canaries.dateOfBirth }),
    client.transfers.get('account', 'transfer'),
    gateway.submit({ transferId: 't', accountId: 'account', idempotencyKey: 'key', attempt: 1, request }, { signal }),
    gateway.registerAddress?.(registration, { signal }),
    gateway.get('account', 'transfer', { signal }),
  ])
  await client.close()
  await gateway.close?.()
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))
}

test.each([400, 401, 403, 404, 409, 418, 422, 429, 500, 503])(
  'a service that repeats all it gets under %i puts no secret into a result or an error',
  async (status) => {
    server.scriptTokens(answer(200, { access_token: canaries.token, expires_in: 3600 }))
    server.script(echo(status))
    for (const outcome of await attempts()) expectNoCanary(outcome)
    expect(server.requests.some((request) => request.headers.authorization === `Bearer ${canaries.token}`)).toBe(true)
    expect(server.requests.some((request) => request.body.includes(canaries.accountNumber))).toBe(true)
  },
)

test.each([400, 401, 429, 500])('nor does a token endpoint that does so under %i', async (status) => {
  server.scriptTokens(echo(status))
  for (const outcome of await attempts()) expectNoCanary(outcome)
  expect(server.tokenRequests[0]?.headers.authorization).toBe(`Basic ${canaries.basic}`)
})

test('nor does a connection that breaks', async () => {
  server.scriptTokens(answer(200, { access_token: canaries.token, expires_in: 3600 }))
  server.script(reset)
  for (const outcome of await attempts()) expectNoCanary(outcome)
})
