import type { Pool } from 'pg'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { testContext, testService } from '../../test/service.ts'
import { accountsRoutes } from '../accounts/routes.ts'
import { createApp } from '../app.ts'
import type { ServiceContext } from '../context.ts'
import { oauthRoutes } from './oauth-routes.ts'

const database = await serviceDatabase()
const { pool } = database
const context = testContext({ pool })
const known = await testService(context).signIn()

// Budgets grow with time, and on a busy machine thousands of requests take long.
beforeEach(() => {
  vi.spyOn(performance, 'now').mockReturnValue(performance.now())
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** A process that has just started. It counts the statements that it sends. */
function startProcess(options: Partial<ServiceContext> = {}) {
  const statements = vi.fn()
  const counting = new Proxy(pool, {
    get(target, name) {
      if (name === 'connect' || name === 'query') statements()
      const member = Reflect.get(target, name) as unknown
      return typeof member === 'function' ? member.bind(target) : member
    },
  }) as Pool
  const parts = {
    ...Object.getOwnPropertyDescriptors(context),
    ...Object.getOwnPropertyDescriptors({ pool: counting, ...options }),
  }
  const { fetch } = createApp(Object.defineProperties({}, parts) as ServiceContext, [oauthRoutes, accountsRoutes])
  const signIn = (address: string, clientId: string, clientSecret: string, headers: Record<string, string> = {}) => {
    const body = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    })
    const request = new Request('http://test/oauth2/token', { method: 'POST', body, headers })
    return fetch(request, { incoming: { socket: { remoteAddress: address } } })
  }
  const read = (address: string, token: string) =>
    fetch(new Request('http://test/accounts', { headers: { authorization: `Bearer ${token}` } }), { address })
  return { statements, signIn, read }
}

const counted = async (answers: readonly Promise<Response>[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of await Promise.all(answers)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}
const many = <T>(count: number, make: (n: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, n) => make(n))
const unknownId = (n: number) => `01K8${String(n).padStart(22, '0')}`

it.each([
  ['of one client', () => known.clientId],
  ['of clients that do not exist', unknownId],
])('3,000 wrong secrets %s from one address are throttled, and the database gets few statements', async (_, idOf) => {
  const { signIn, statements } = startProcess()
  const counts = await counted(many(3_000, (n) => signIn('192.0.2.1', idOf(n), `os_wrong${n}`)))
  expect(counts[429]).toBeGreaterThan(2_900)
  expect((counts[401] ?? 0) + (counts[429] ?? 0)).toBe(3_000)
  expect(statements.mock.calls.length).toBeLessThan(150)
  const refused = await signIn('192.0.2.1', idOf(1), 'os_wrong')
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await refused.json()).toMatchObject({ code: 'rate_limited' })
})

it.each([
  ['secrets', true],
  ['tokens', false],
])('wrong %s from an address each cost the database few statements, and right ones pass', async (_, isSecret) => {
  const { signIn, read, statements } = startProcess()
  const send = (n: number) => {
    const address = `2001:db8:0:${n.toString(16)}::1`
    return isSecret ? signIn(address, unknownId(n), `os_wrong${n}`) : read(address, `wrong${n}`)
  }
  const flood = many(3_000, send)
  expect((await signIn('192.0.2.1', known.clientId, known.clientSecret)).status).toBe(200)
  expect((await read('192.0.2.1', known.token)).status).toBe(200)
  expect(await counted(flood)).toEqual({ 401: 3_000 })
  expect(statements.mock.calls.length).toBeLessThan(500)
})

it('wrong tokens are throttled as wrong secrets are', async () => {
  const { read, statements } = startProcess()
  const counts = await counted(many(3_000, (n) => read('192.0.2.1', `wrong${n}`)))
  expect(counts[429]).toBeGreaterThan(2_900)
  expect(statements.mock.calls.length).toBeLessThan(150)
})

it.each([
  ['the same client', () => known.clientId],
  ['others', unknownId],
])('a right secret and a right token pass behind an address that sends wrong ones of %s', async (_, idOf) => {
  const { signIn, read } = startProcess()
  const flood = many(2_000, (n) => signIn('192.0.2.1', idOf(n), `os_wrong${n}`))
  const granted = await signIn('192.0.2.1', known.clientId, known.clientSecret)
  expect(granted.status).toBe(200)
  await Promise.all(flood)
  expect((await signIn('192.0.2.1', known.clientId, known.clientSecret)).status).toBe(200)
  expect((await read('192.0.2.1', known.token)).status).toBe(200)
})

it('another address keeps its own budget, and one client id has one for all addresses', async () => {
  const { signIn } = startProcess()
  await Promise.all(many(200, (n) => signIn('192.0.2.1', unknownId(n), 'os_wrong')))
  expect((await signIn('192.0.2.2', unknownId(1), 'os_wrong')).status).toBe(401)
  const spread = await counted(many(200, (n) => signIn(`198.51.100.${n}`, known.clientId, 'os_wrong')))
  expect(spread[429]).toBeGreaterThan(100)
})

it('an IPv6 network of 64 bits is one address, and a mapped IPv4 address is that address', async () => {
  const { signIn } = startProcess()
  await Promise.all(many(200, (n) => signIn(`2001:db8::${n.toString(16)}`, unknownId(n), 'os_wrong')))
  expect((await signIn('2001:db8:0:0:1::1', unknownId(1), 'os_wrong')).status).toBe(429)
  expect((await signIn('2001:db8:0:1::1', unknownId(1), 'os_wrong')).status).toBe(401)
  await Promise.all(many(200, (n) => signIn('::ffff:192.0.2.1', unknownId(n), 'os_wrong')))
  expect((await signIn('192.0.2.1', unknownId(1), 'os_wrong')).status).toBe(429)
})

it('a header names the address only behind proxies that are configured', async () => {
  const bare = startProcess()
  const header = (n: number) => ({ 'x-forwarded-for': `203.0.113.${n % 250}` })
  const open = await counted(many(500, (n) => bare.signIn('192.0.2.1', unknownId(n), 'os_wrong', header(n))))
  expect(open[429]).toBeGreaterThan(400)

  const proxied = startProcess({ trustedProxies: 1 })
  const through = (client: string) => ({ 'x-forwarded-for': `10.9.9.9, ${client}` })
  await Promise.all(many(200, (n) => proxied.signIn('10.0.0.1', unknownId(n), 'os_wrong', through('203.0.113.1'))))
  expect((await proxied.signIn('10.0.0.1', unknownId(1), 'os_wrong', through('203.0.113.1'))).status).toBe(429)
  expect((await proxied.signIn('10.0.0.1', unknownId(1), 'os_wrong', through('203.0.113.2'))).status).toBe(401)
})
