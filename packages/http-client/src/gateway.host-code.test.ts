import { afterEach, beforeEach, expect, test } from 'vitest'
import { answer, type ScriptedServer, startServer } from '../test/scripted-server.ts'
import { createClient } from './client.ts'
import { httpGateway } from './gateway.ts'
import type { Credentials } from './token.ts'
import { httpWebhooks } from './webhook-verifier.ts'

let server: ScriptedServer

beforeEach(async () => {
  server = await startServer()
  server.script(answer(201, { id: 'remote-1', status: 'pending' }))
})
afterEach(() => server.close())

const submission = {
  transferId: '01J0000000000000000000000T',
  accountId: 'acme',
  idempotencyKey: 'INV-1',
  attempt: 1,
  request: {
    amount: { value: '12.50', currency: 'USD' },
    source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
  },
}
const { signal } = new AbortController()

test('nothing is sent while the vault hangs, and the next submission reads it again', async () => {
  const pair: Credentials = { clientId: 'client', clientSecret: 'secret' }
  const late = Promise.withResolvers<Credentials>()
  let asked = 0
  const gateway = httpGateway({
    baseUrl: server.url,
    credentials: () => {
      asked += 1
      return asked === 1 ? late.promise : pair
    },
    timeouts: { credentialsMs: 20 },
  })
  const first = await gateway.submit(submission, { signal })
  expect(first).toMatchObject({ outcome: 'throttled', detail: expect.stringContaining('not sent') })
  expect([server.requests.length, server.tokenRequests.length]).toEqual([0, 0])
  late.resolve({ clientId: 'too', clientSecret: 'late' })
  expect(await gateway.submit(submission, { signal })).toMatchObject({ outcome: 'accepted' })
  expect([asked, server.tokenRequests.length]).toEqual([2, 1])
  await gateway.close?.()
})

test('telemetry that throws or hangs does not affect requests', async () => {
  const fail = (): never => {
    throw new Error('no collector')
  }
  for (const span of [fail, () => new Promise<never>(() => undefined)]) {
    const telemetry = { span, current: fail, count: fail, record: fail, gauges: fail }
    const credentials = { clientId: 'client', clientSecret: 'secret' }
    const gateway = httpGateway({ baseUrl: server.url, credentials, telemetry })
    expect(await gateway.submit(submission, { signal })).toMatchObject({ outcome: 'accepted' })
    await gateway.close?.()
  }
})

test('an invalid number is refused by the name of its option', () => {
  const credentials = { clientId: 'client', clientSecret: 'secret' }
  const open = (options: object) => () => createClient({ baseUrl: 'http://127.0.0.1', credentials, ...options })
  expect(open({ maxConcurrent: 0 })).toThrow('maxConcurrent is a whole number from 1 to 100000; got 0.')
  expect(open({ maxBodyBytes: Number.NaN })).toThrow('maxBodyBytes')
  for (const name of ['connectMs', 'headersMs', 'bodyMs', 'totalMs', 'credentialsMs']) {
    for (const value of [0, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(open({ timeouts: { [name]: value } })).toThrow(`timeouts.${name} is a number from 1 to 2147483647`)
    }
  }
  expect(open({ retries: { times: -1 } })).toThrow('retries.times')
  expect(open({ retries: { maxMs: Number.NaN } })).toThrow('retries.maxMs')
  expect(() => httpWebhooks({ secrets: () => 'secret', toleranceMs: Number.NaN })).toThrow('toleranceMs')
})
