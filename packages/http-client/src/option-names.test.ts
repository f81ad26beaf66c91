import { expect, it } from 'vitest'
import { createClient } from './client.ts'
import { httpGateway } from './gateway.ts'
import { httpWebhooks } from './webhook-verifier.ts'
import { verifyWebhook } from './webhooks.ts'

const connection = { baseUrl: 'http://127.0.0.1:1', credentials: { clientId: 'a', clientSecret: 'b' } }
const gateway = (options: object) => () => httpGateway({ ...connection, ...options })
const client = (options: object) => () => createClient({ ...connection, ...options })

it.each<[string, () => unknown]>([
  ['keyLifeTimeMs: is no option; there are baseUrl', gateway({ keyLifeTimeMs: 3_600_000 })],
  ['retries: is no option', gateway({ retries: { times: 0 } })],
  ['timeouts.total: is no option; there are connectMs', gateway({ timeouts: { total: 5 } })],
  ['keyLifetimeMs: is no option', client({ keyLifetimeMs: 3_600_000 })],
  ['retries.count: is no option; there are times', client({ retries: { count: 5 } })],
  ['tolerance: is no option', () => httpWebhooks({ secrets: () => 's', ...{ tolerance: 5 } })],
  ['tolerance: is no option', () => verifyWebhook('{}', {}, 's', { ...{ tolerance: 5 } } as object)],
])('%s', (message, act) => {
  expect(act).toThrow(message)
})

it('a time limit for tokens must be a number like the others', () => {
  expect(gateway({ timeouts: { tokenMs: Number.NaN } })).toThrow('timeouts.tokenMs is a number')
})

it('an invalid number is refused by the name of its option', () => {
  expect(client({ maxConcurrent: 0 })).toThrow('maxConcurrent is a whole number from 1 to 100000; got 0.')
  expect(client({ maxBodyBytes: Number.NaN })).toThrow('maxBodyBytes')
  for (const name of ['connectMs', 'headersMs', 'bodyMs', 'totalMs', 'credentialsMs']) {
    for (const value of [0, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(client({ timeouts: { [name]: value } })).toThrow(`timeouts.${name} is a number from 1 to 2147483647`)
    }
  }
  expect(client({ retries: { times: -1 } })).toThrow('retries.times')
  expect(client({ retries: { maxMs: Number.NaN } })).toThrow('retries.maxMs')
  expect(() => httpWebhooks({ secrets: () => 'secret', toleranceMs: Number.NaN })).toThrow('toleranceMs')
})
