import { afterEach, beforeEach, expect, test } from 'vitest'
import { answer, type ScriptedServer, startServer } from '../test/scripted-server.ts'
import { httpGateway } from './gateway.ts'
import type { Credentials } from './token.ts'

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
