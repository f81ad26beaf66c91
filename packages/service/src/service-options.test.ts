import { expect, it } from 'vitest'
import { createService } from './service.ts'

it('a service refuses an invalid number by the name of its option, before it does anything', () => {
  const make = (options: object) => () =>
    createService({ pool: undefined as never, rails: 'simulated', encryptionKey: new Uint8Array(32), ...options })
  expect(make({ rateLimit: { perSecond: Number.NaN, burst: 5 } })).toThrow('rateLimit.perSecond is a number')
  expect(make({ rateLimit: { perSecond: 5, burst: 0 } })).toThrow('rateLimit.burst is a number from 1 on; got 0.')
  expect(make({ webhooks: { concurrency: 0 } })).toThrow('webhooks.concurrency is a whole number')
  expect(make({ webhooks: { pollIntervalMs: Number.NaN } })).toThrow('webhooks.pollIntervalMs')
  expect(make({ webhooks: { timeoutMs: 2 ** 31 } })).toThrow('webhooks.timeoutMs')
  expect(make({ retention: { idempotencyKeyDays: -1 } })).toThrow('retention.idempotencyKeyDays')
})
