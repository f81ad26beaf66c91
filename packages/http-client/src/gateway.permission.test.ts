import type { Submission } from '@outlay/core'
import { expect, test, vi } from 'vitest'
import { scriptedExchange } from '../test/scripted-exchange.ts'
import { answer } from '../test/scripted-server.ts'

const submission: Submission = {
  transferId: '01BX5ZZKBKACTAV9WEVGEMMVRZ',
  accountId: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  idempotencyKey: 'invoice-42',
  attempt: 1,
  request: {
    amount: { value: '1250.00', currency: 'USDC' },
    source: { addressId: '01BX5ZZKBKACTAV9WEVGEMMVS0', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: '01BX5ZZKBKACTAV9WEVGEMMVS1', valueType: 'USDC', transferType: 'base' },
  },
}

const exchange = scriptedExchange()
const never = new AbortController().signal

test('nothing is sent after a stop, even if it comes after the call: the stop is checked after every wait', async () => {
  let stopped = false
  exchange.server.scriptTokens((response) => {
    // Sending is stopped while the token is fetched.
    stopped = true
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ access_token: 'token-1', token_type: 'bearer', expires_in: 3600 }))
  })
  const result = await exchange.openGateway().submit(submission, { signal: never, mayBegin: () => !stopped })
  expect(result).toEqual({ outcome: 'throttled', detail: 'not sent: stopped before it was sent' })
  expect(exchange.server.requests).toEqual([])
  exchange.server.script(answer(201, { id: 'transfer-1' }))
  expect(await exchange.openGateway().submit(submission, { signal: never, mayBegin: () => true })).toMatchObject({
    outcome: 'accepted',
  })
})

test('nothing is sent after a stop, even if it comes while the request waits for a free connection', async () => {
  let stopped = false
  let end = () => {}
  exchange.server.script((response) => {
    end = () =>
      response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'transfer-1' }))
  })
  const one = exchange.openGateway({ maxConcurrent: 1 })
  const first = one.submit(submission, { signal: never, mayBegin: () => true })
  await vi.waitFor(() => expect(exchange.server.requests).toHaveLength(1), { timeout: 60_000 })
  let asked = 0
  const mayBegin = () => {
    asked += 1
    return !stopped
  }
  const second = one.submit({ ...submission, idempotencyKey: 'invoice-43' }, { signal: never, mayBegin })
  await vi.waitFor(() => expect(asked).toBe(1), { timeout: 60_000 })
  stopped = true
  end()
  expect(await first).toMatchObject({ outcome: 'accepted' })
  expect(await second).toEqual({ outcome: 'throttled', detail: 'not sent: stopped before it was sent' })
  expect(exchange.server.requests).toHaveLength(1)
})

test('a request that stays unsent after the first may have been carried out says so', async () => {
  exchange.server.script(answer(401, '<html>who are you</html>'))
  const mayBegin = () => exchange.server.requests.length === 0
  const result = await exchange.openGateway().submit(submission, { signal: never, mayBegin })
  expect(result).toMatchObject({ outcome: 'throttled', mayHaveActed: true })
  exchange.server.script(answer(401, { code: 'unauthenticated' }))
  const alone = await exchange
    .openGateway()
    .submit(submission, { signal: never, mayBegin: () => exchange.server.requests.length === 1 })
  expect(alone).toEqual({ outcome: 'throttled', detail: 'not sent: stopped before it was sent' })
})

test('credentials of the other environment are refused before anything is sent, the request for a token included', async () => {
  const credentials = () => ({ clientId: 'client', clientSecret: 'secret', environment: 'mainnet' as const })
  const test = exchange.openGateway({ credentials, environment: 'testnet' })
  expect(test.environment).toBe('testnet')
  expect(await test.submit(submission, { signal: never })).toEqual({
    outcome: 'unauthorized',
    detail: 'the credentials of the account are for mainnet, and the connection is for testnet',
  })
  expect([...exchange.server.requests, ...exchange.server.tokenRequests]).toEqual([])
  await test.close?.()
  exchange.server.script(answer(201, { id: 'transfer-1' }))
  const live = exchange.openGateway({ credentials, environment: 'mainnet' })
  expect(await live.submit(submission, { signal: never })).toMatchObject({ outcome: 'accepted' })
})
