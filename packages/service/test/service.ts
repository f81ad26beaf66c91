import { randomBytes } from 'node:crypto'
import { defaultCatalog } from '@outlay/core'
import { manualClock, silentLogger } from '@outlay/testing'
import { accountsRoutes } from '../src/accounts/routes.ts'
import { addressesRoutes } from '../src/addresses/routes.ts'
import { createApp } from '../src/app.ts'
import { type ClientCredentials, type NewClient, registerClient } from '../src/clients/clients.ts'
import { oauthRoutes } from '../src/clients/oauth-routes.ts'
import { inTransaction, type ServiceContext } from '../src/context.ts'
import { healthRoutes } from '../src/health/routes.ts'
import type { RouteModule } from '../src/http/request.ts'
import { createSimulatedCustody } from '../src/rails/simulated/custody.ts'
import { createSecrets } from '../src/secrets.ts'
import { webhooksRoutes } from '../src/webhooks/routes.ts'
import { checkedFetch } from './contract.ts'

/** Schema that {@link testContext} uses. */
export const testSchema = 'service_test'

/** A context for tests of everything that needs neither engine nor rails; touching those throws. */
export function testContext(parts: Pick<ServiceContext, 'pool'> & Partial<ServiceContext>): ServiceContext {
  const random = { bytes: (length: number) => randomBytes(length), fraction: () => Math.random() }
  const context = {
    schema: testSchema,
    clock: manualClock(),
    logger: silentLogger,
    random,
    catalog: defaultCatalog,
    custody: createSimulatedCustody(),
    completesAccounts: true,
    secrets: createSecrets({ keys: [{ id: 'k1', key: randomBytes(32) }], macKey: randomBytes(32), random }),
    get engine(): never {
      throw new Error('This test has no engine.')
    },
    get rails(): never {
      throw new Error('This test has no rails.')
    },
  }
  return Object.defineProperties(context, Object.getOwnPropertyDescriptors(parts)) as typeof context & typeof parts
}

/** One request of a test; an object as the body is sent as JSON. */
export interface Call {
  readonly method?: string
  readonly token?: string
  readonly key?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** An answer with its body as text and as JSON. */
export interface Answer<Body = Record<string, unknown>> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Body
}

/** A service that is called without a network. */
export interface TestService {
  readonly context: ServiceContext
  call<Body = Record<string, unknown>>(path: string, call?: Call): Promise<Answer<Body>>
  fetch(request: Request): Promise<Response>
  /** Registers a client and signs it in. */
  signIn(client?: Partial<NewClient>): Promise<ClientCredentials & { readonly token: string }>
  /** Registers an account and gives its id. */
  createAccount(token: string, fields?: Readonly<Record<string, unknown>>): Promise<string>
}

/** Makes a {@link TestService} with the routes of accounts, addresses and webhooks, and those that are given. */
export function testService(context: ServiceContext, more: readonly RouteModule[] = []): TestService {
  const fetch = checkedFetch(
    createApp(context, [healthRoutes, oauthRoutes, accountsRoutes, addressesRoutes, webhooksRoutes, ...more]).fetch,
  )
  const call = async <Body>(path: string, options: Call = {}): Promise<Answer<Body>> => {
    const response = await fetch(requestOf(path, options))
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: readJson(text) as Body }
  }
  return {
    context,
    call,
    fetch,
    async signIn(client = {}) {
      const credentials = await inTransaction(context, (tx) =>
        registerClient(tx, context, { name: 'Test', environment: 'testnet', ...client }),
      )
      const form = new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: credentials.clientId,
        client_secret: credentials.clientSecret,
      })
      const response = await fetch(new Request('http://test/oauth2/token', { method: 'POST', body: form }))
      const { access_token: token } = (await response.json()) as { access_token: string }
      return { ...credentials, token }
    },
    async createAccount(token, fields = {}) {
      const body = { ...sampleAccount, ...fields }
      const answer = await call<{ id: string }>('/accounts', { method: 'POST', token, key: crypto.randomUUID(), body })
      if (answer.status !== 201) throw new Error(`The account was not created: ${answer.text}`)
      return answer.json.id
    },
  }
}

const sampleAddress = { street_line_1: '1 Main Street', city: 'Springfield', state: 'IL', zip: '62701' }

/** A complete body of `POST /accounts`. */
export const sampleAccount = {
  business_name: 'Acme Incorporated',
  ein: '12-3456789',
  address: sampleAddress,
  phone_number: '+1 217 555 0100',
  email: 'finance@acme.example',
  website: 'https://acme.example',
  ultimate_beneficial_owners: [{ name: 'Ada Roe', ssn: '987-65-4321', address: sampleAddress }],
}

/** A complete body that registers a bank account. */
export const sampleBankAddress = {
  owner: 'Roe Supplies LLC',
  name: 'Supplier',
  account_number: '445566778899',
  routing_number: '021000021',
  account_type: 'checking',
  bank_address: sampleAddress,
  beneficiary_address: sampleAddress,
  transfer_types: ['ach_credit', 'wire'],
}

function requestOf(path: string, call: Call): Request {
  const headers = new Headers(call.headers)
  if (call.token !== undefined) headers.set('authorization', `Bearer ${call.token}`)
  if (call.key !== undefined) headers.set('idempotency-key', call.key)
  if (call.body === undefined) return new Request(`http://test${path}`, { method: call.method ?? 'GET', headers })
  if (!headers.has('content-type')) headers.set('content-type', 'application/json')
  const body = typeof call.body === 'string' ? call.body : JSON.stringify(call.body)
  return new Request(`http://test${path}`, { method: call.method ?? 'POST', headers, body })
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
