import { afterEach, beforeEach, expect, test } from 'vitest'
import { answer, type ScriptedServer, type Step, startServer } from '../test/scripted-server.ts'
import { type Client, type ClientOptions, createClient } from './client.ts'
import { httpGateway } from './gateway.ts'
import { createLimiter } from './limiter.ts'

const credentials = { clientId: 'client', clientSecret: 'secret' }
const empty = answer(200, { accounts: [] })

let server: ScriptedServer
let clients: Client[]

beforeEach(async () => {
  server = await startServer()
  clients = []
})

afterEach(async () => {
  await server.close()
  await Promise.all(clients.map((client) => client.close()))
})

const open = (options: Partial<ClientOptions> = {}) => {
  const client = createClient({ baseUrl: server.url, credentials, retries: { times: 0 }, ...options })
  clients.push(client)
  return client
}

/** Answers when released, and counts the requests that wait. */
const holdAnswers = () => {
  const held: (() => void)[] = []
  const step: Step = (response, request) => held.push(() => empty(response, request))
  const until = async (count: number) => {
    while (held.length < count) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return { step, held, until, answerOne: () => held.shift()?.() }
}

test('no more calls are in progress than the concurrency, over all accounts of one pair of credentials', async () => {
  const answers = holdAnswers()
  server.script(answers.step)
  const client = open({ limits: { concurrency: 2 } })
  const calls = Array.from({ length: 6 }, (_, index) => client.accounts.list(`account-${index % 3}`))
  for (let done = 0; done < 6; done += 1) {
    await answers.until(Math.min(2, 6 - done))
    expect(answers.held.length).toBeLessThanOrEqual(2)
    answers.answerOne()
  }
  await Promise.all(calls)
  expect(server.requests).toHaveLength(6)
})

test('an account with its own credentials has its own limits', async () => {
  const answers = holdAnswers()
  server.script(answers.step)
  const client = open({ credentials: () => credentials, limits: { concurrency: 1 } })
  const calls = ['a', 'a', 'b', 'b'].map((accountId) => client.accounts.list(accountId))
  await answers.until(2)
  answers.answerOne()
  answers.answerOne()
  await answers.until(2)
  answers.answerOne()
  answers.answerOne()
  await Promise.all(calls)
})

test('a function returns the limits of each account, or none', async () => {
  const answers = holdAnswers()
  server.script(answers.step)
  const client = open({ limits: (accountId) => (accountId === 'narrow' ? { concurrency: 1 } : undefined) })
  const narrow = [client.accounts.list('narrow'), client.accounts.list('narrow')]
  const wide = Array.from({ length: 5 }, () => client.accounts.list('wide'))
  await answers.until(6)
  expect(server.requests).toHaveLength(6)
  while (answers.held.length > 0) answers.answerOne()
  await answers.until(1)
  answers.answerOne()
  await Promise.all([...narrow, ...wide])
})

test('calls begin in the order in which they arrive, at the rate', async () => {
  server.script(empty)
  const limiter = createLimiter({ ratePerSecond: 50, concurrency: 1 }, () => '')
  const order: number[] = []
  const startedAtMs = performance.now()
  await Promise.all(
    Array.from({ length: 12 }, async (_, index) => {
      const leave = await limiter.enter('a')
      order.push(index)
      leave?.()
    }),
  )
  expect(order).toEqual(Array.from({ length: 12 }, (_, index) => index))
  // Fifty milliseconds can be made up for: two calls and a half.
  expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual((11 - 3.5) * 20)
})

test('a call that is aborted while it waits is not sent, and lets the next one pass', async () => {
  const answers = holdAnswers()
  server.script(answers.step)
  const client = open({ limits: { concurrency: 1 } })
  const first = client.accounts.list('a')
  await answers.until(1)
  const abort = new AbortController()
  const second = client.accounts.list('a', { signal: abort.signal })
  const third = client.accounts.list('a')
  abort.abort()
  await expect(second).rejects.toMatchObject({ code: 'aborted' })
  answers.answerOne()
  await answers.until(1)
  answers.answerOne()
  await Promise.all([first, third])
  expect(server.requests).toHaveLength(2)
})

test('a call that is aborted while it has a permit releases it to the next one', async () => {
  const answers = holdAnswers()
  server.script(answers.step)
  const client = open({ limits: { concurrency: 1 } })
  const abort = new AbortController()
  const first = client.accounts.list('a', { signal: abort.signal })
  await answers.until(1)
  abort.abort()
  await expect(first).rejects.toMatchObject({ code: 'aborted' })
  const second = client.accounts.list('a')
  await answers.until(2)
  answers.answerOne()
  answers.answerOne()
  await second
})

test('a submission that is stopped before it has a permit was not sent, so it is not unknown', async () => {
  const gateway = httpGateway({ baseUrl: server.url, credentials, limits: { ratePerSecond: 0.001 } })
  server.script(answer(201, { id: 'transfer-1' }))
  const leg = { addressId: '01BX5ZZKBKACTAV9WEVGEMMVS0', valueType: 'USDC', transferType: 'base' }
  const request = { amount: { value: '1', currency: 'USDC' }, source: leg, destination: leg }
  const submission = { transferId: 't', accountId: 'a', idempotencyKey: 'k', request, attempt: 1 }
  const abort = new AbortController()
  expect(await gateway.submit(submission, { signal: abort.signal })).toMatchObject({ outcome: 'accepted' })
  const waiting = gateway.submit({ ...submission, idempotencyKey: 'l' }, { signal: abort.signal })
  abort.abort()
  expect(await waiting).toMatchObject({ outcome: 'throttled', detail: expect.stringContaining('not sent') })
  expect(server.requests).toHaveLength(1)
  await gateway.close?.()
})

test('invalid limits are refused: at once, or before the call is sent', async () => {
  expect(() => open({ limits: { concurrency: 0 } })).toThrow('limits.concurrency')
  expect(() => open({ limits: { ratePerSecond: Number.NaN } })).toThrow('limits.ratePerSecond')
  const client = open({ limits: () => ({ concurrency: 0.5 }) })
  await expect(client.accounts.list('a')).rejects.toMatchObject({ code: 'service_unavailable' })
  expect(server.requests).toHaveLength(0)
})

test('each account has its own address and its own token, with its own credentials or shared ones', async () => {
  const other = await startServer()
  other.script(empty)
  server.script(empty)
  const client = open({ baseUrl: (accountId) => (accountId === 'test' ? `${other.url}/testnet` : server.url) })
  await client.accounts.list('test')
  await client.accounts.list('live')
  await client.accounts.list('test')
  expect(other.requests.map(({ url }) => url)).toEqual(['/testnet/accounts', '/testnet/accounts'])
  expect(other.tokenRequests.map(({ url }) => url)).toEqual(['/testnet/oauth2/token'])
  expect(server.requests).toHaveLength(1)
  expect(server.tokenRequests).toHaveLength(1)
  await other.close()
})

test('an address that cannot be found, or is not safe, is reported before anything is sent', async () => {
  const client = open({
    baseUrl: (accountId) => {
      if (accountId === 'unknown') throw new Error('secret of the host')
      return 'http://api.example.com'
    },
  })
  const refusals = ['unknown', 'insecure'].map((accountId) => client.accounts.list(accountId).catch((error) => error))
  for (const error of await Promise.all(refusals)) {
    expect(error).toMatchObject({ code: 'service_unavailable' })
    expect(error.message).not.toContain('secret of the host')
  }
})
