import { manualClock } from '@outlay/testing'
import { beforeEach, describe, expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { testContext, testSchema, testService } from '../../test/service.ts'
import { financialInstitutionsRoutes } from '../financial-institutions/routes.ts'
import { createBankLinking } from './linking.ts'
import type { BankLinkProvider, LinkFlow } from './port.ts'
import { bankLinkRoutes } from './routes.ts'
import { createSimulatedBankLinks } from './simulated.ts'
import { bankLinkSimulationsRoutes } from './simulation-routes.ts'

const { pool } = await serviceDatabase()
const context = testContext({ pool })
/** The provider's own time. */
const clock = manualClock()
const simulated = createSimulatedBankLinks({
  pool,
  schema: testSchema,
  clock,
  random: context.random,
  secrets: context.secrets,
})

/** The simulated provider behind a connection that can be cut before or after a call takes effect. */
const faults = new Map<keyof BankLinkProvider, 'before' | 'after'>()
const calls: string[] = []
const flows: LinkFlow[] = []
async function through<T>(name: keyof BankLinkProvider, call: () => Promise<T>): Promise<T> {
  calls.push(name)
  const fault = faults.get(name)
  faults.delete(name)
  if (fault === 'before') throw new Error('cut before 112233445566')
  const answer = await call()
  if (fault === 'after') throw new Error('cut after')
  return answer
}
const provider: BankLinkProvider = {
  openFlow: (flow, options) => {
    flows.push(flow)
    return through('openFlow', () => simulated.openFlow(flow, options))
  },
  exchange: (token, options) => through('exchange', () => simulated.exchange(token, options)),
  listBankAccounts: (item, options) => through('listBankAccounts', () => simulated.listBankAccounts(item, options)),
}
const { linking, simulation: none } = createBankLinking(
  { provider, pathSegment: 'bankly', pathAliases: ['banklink'], callbackUrl: (id) => `https://app.example/${id}` },
  context,
  clock,
)
const service = testService(context, [
  bankLinkRoutes(linking),
  bankLinkSimulationsRoutes(simulated.simulation),
  financialInstitutionsRoutes,
])
const { token } = await service.signIn()
const accountId = await service.createAccount(token)
beforeEach(() => {
  faults.clear()
  calls.length = 0
  flows.length = 0
})

const post = (path: string, body: unknown = {}, key?: string) =>
  service.call(path, { method: 'POST', token, body, ...(key === undefined ? {} : { key }) })
const linkToken = async (path = 'banklink/link_token') =>
  (await post(`/accounts/${accountId}/${path}`)).json as { link_token: string; expiration: string }
const complete = (opened: { link_token: string }) => post(`/simulations/bank-links/${opened.link_token}/complete`)
const publicToken = async () => String((await complete(await linkToken())).json['public_token'])
let keys = 0
const register = (given: unknown, key?: string) => {
  keys += 1
  const path = `/accounts/${accountId}/financial-institutions/register-account`
  return post(path, typeof given === 'string' ? { public_token: given } : given, key ?? `bank-link-${keys}`)
}

describe('the paths', () => {
  it.each([
    'bankly/link_token',
    'banklink/link_token',
    'financial-institutions/bankly/link_token',
    'financial-institutions/banklink/link_token',
  ])('have %s, since the segment is configurable and has aliases', async (path) => {
    const answer = await post(`/accounts/${accountId}/${path}`)
    expect(answer.status).toBe(200)
    expect(answer.json['callback_url']).toBe(`https://app.example/${accountId}`)
  })

  it('have no segment that breaks them', () => {
    const bad = { provider, pathSegment: 'a/:b' }
    expect(() => createBankLinking(bad, context, clock)).toThrow('segment')
  })

  it('have no simulation for a provider of the deployer', () => {
    expect(none).toBeUndefined()
  })

  it('require a token with the scope, and an account of the client', async () => {
    const path = `/accounts/${accountId}/banklink/link_token`
    expect((await service.call(path, { method: 'POST', body: {} })).status).toBe(401)
    const { token: reader } = await service.signIn({ scopes: ['financial-institutions:read'], accountIds: [accountId] })
    expect((await service.call(path, { token: reader, body: {} })).status).toBe(403)
    const { token: stranger } = await service.signIn()
    expect((await service.call(path, { token: stranger, body: {} })).status).toBe(404)
    const opened = await linkToken()
    const elsewhere = `/simulations/bank-links/${opened.link_token}/complete`
    expect((await service.call(elsewhere, { token: stranger, body: {} })).status).toBe(404)
  })
})

it('passes the known data of the person to the provider, and the account as owner', async () => {
  await post(`/accounts/${accountId}/banklink/link_token`, { legal_name: 'Ada Roe', date_of_birth: '1990-02-28' })
  expect(flows).toEqual([{ ownerId: accountId, person: { legalName: 'Ada Roe', dateOfBirth: '1990-02-28' } }])
})

it('a link token is invalid after its expiration', async () => {
  const opened = await linkToken()
  clock.advance(Date.parse(opened.expiration) - clock.now().getTime())
  const late = await complete(opened)
  expect(late.status).toBe(422)
  expect(late.json['detail']).toBe('The link token is expired.')
})

it('a public token is invalid after it expires', async () => {
  const late = await publicToken()
  clock.advance(31 * 60_000)
  expect((await register(late)).status).toBe(422)
})

it('a public token is exchanged once, however often it is registered', async () => {
  const given = await publicToken()
  const answers = await Promise.all(Array.from({ length: 10 }, () => register(given)))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(calls.filter((name) => name === 'exchange')).toHaveLength(1)
  const count = calls.length
  expect((await register(given)).status).toBe(201)
  expect(calls).toHaveLength(count)
})

describe('a provider that cannot be reached', () => {
  it.each(['exchange', 'listBankAccounts'] as const)(
    'makes a 503 of %s, and the same key works later',
    async (name) => {
      const given = await publicToken()
      faults.set(name, 'before')
      const failed = await register(given, `cut-${name}`)
      expect(failed.status).toBe(503)
      expect(failed.headers.get('retry-after')).toBe('5')
      expect(failed.text).not.toContain('cut before')
      const again = await register(given, `cut-${name}`)
      expect(again.status).toBe(201)
      expect(again.headers.get('idempotent-replayed')).toBeNull()
      expect(calls.filter((one) => one === 'exchange')).toHaveLength(name === 'exchange' ? 2 : 1)
    },
  )

  it('refuses the token when the answer of its exchange is lost, since it works once', async () => {
    const given = await publicToken()
    faults.set('exchange', 'after')
    expect((await register(given, 'lost-exchange')).status).toBe(503)
    expect((await register(given, 'lost-exchange')).status).toBe(422)
  })

  it('causes a 503 for a link token', async () => {
    faults.set('openFlow', 'before')
    expect((await post(`/accounts/${accountId}/banklink/link_token`)).status).toBe(503)
  })
})

it.each([
  'http://hooks.example.com/x',
  'https://127.0.0.1/x',
  'https://localhost/x',
  'https://user:secret@hooks.example.com/x',
])('refuses %s as customer_webhook_url before the token is used up', async (url) => {
  const given = await publicToken()
  const refused = await register({ public_token: given, customer_webhook_url: url })
  expect(refused.status).toBe(422)
  expect(refused.json['errors']).toMatchObject([{ source: { pointer: '/customer_webhook_url' } }])
  expect(calls).not.toContain('exchange')
  expect((await register({ public_token: given, customer_webhook_url: 'https://hooks.example.com/x' })).status).toBe(
    201,
  )
})

it('refuses a selection that breaks a rule', async () => {
  const { link_token } = await linkToken()
  const path = `/simulations/bank-links/${link_token}/complete`
  for (const [account, pointer] of [
    [{ account_number: 'x' }, '/accounts/0/account_number'],
    [{ routing_number: '123456789' }, '/accounts/0/routing_number'],
    [{ account_type: 'gold' }, '/accounts/0/account_type'],
    [{ name: 1 }, '/accounts/0/name'],
  ] as const) {
    const refused = await post(path, { accounts: [account] })
    expect(refused.status).toBe(422)
    expect(refused.json['errors']).toMatchObject([{ source: { pointer } }])
  }
  expect((await post(path, { accounts: 'all' })).status).toBe(422)
})
