import { expect, it } from 'vitest'
import { createService } from './service.ts'

const make = (options: object) => () =>
  createService({ pool: undefined as never, rails: 'simulated', encryptionKey: new Uint8Array(32), ...options })

it('a service refuses an option that it does not have, before it does anything', () => {
  expect(make({ shema: 'payments' })).toThrow('shema: is no option; there are pool, schema')
  expect(make({ rateLimit: { perSecond: 5, brust: 5 } })).toThrow('rateLimit.brust: is no option')
  expect(make({ webhooks: { timeout: 5 } })).toThrow('webhooks.timeout: is no option')
  expect(make({ retention: { idempotencyKeysDays: 5 } })).toThrow('retention.idempotencyKeysDays: is no option')
})

it('a service refuses an invalid number by the name of its option, before it does anything', () => {
  expect(make({ rateLimit: { perSecond: Number.NaN, burst: 5 } })).toThrow('rateLimit.perSecond is a number')
  expect(make({ rateLimit: { perSecond: 5, burst: 0 } })).toThrow('rateLimit.burst is a number from 1 on; got 0.')
  expect(make({ webhooks: { concurrency: 0 } })).toThrow('webhooks.concurrency is a whole number')
  expect(make({ webhooks: { pollIntervalMs: Number.NaN } })).toThrow('webhooks.pollIntervalMs')
  expect(make({ webhooks: { timeoutMs: 2 ** 31 } })).toThrow('webhooks.timeoutMs')
  expect(make({ retention: { idempotencyKeyDays: -1 } })).toThrow('retention.idempotencyKeyDays')
})

it('a service keeps keys for longer than its hosts trust them', () => {
  for (const idempotencyKeyDays of [0, 0.5, 1, 20, 20.9, Number.NaN, Number.POSITIVE_INFINITY, 100_001, '30', null]) {
    const start = make({ retention: { idempotencyKeyDays } })
    expect(start).toThrow('retention.idempotencyKeyDays is a number from 21 to 100000; got ')
    expect(start).toThrow('keyLifetimeMs')
  }
  // The check of the pool, which is not there, comes after that of the options.
  for (const idempotencyKeyDays of [21, 30.5, undefined])
    expect(make({ retention: { idempotencyKeyDays } })).not.toThrow('idempotencyKeyDays')
})

it('a service refuses a text for true or false: "false" would let webhooks reach private addresses', () => {
  for (const allowPrivateWebhooks of ['false', '', 0, null]) {
    expect(make({ allowPrivateWebhooks })).toThrow('allowPrivateWebhooks: must be true or false')
  }
})

it('a service refuses a policy that it does not have', () => {
  expect(make({ amountPolicy: 'credit' })).toThrow('amountPolicy: must be hold or credit_received')
  expect(make({ dialect: 'public-2026' })).toThrow('dialect: must be specification or public')
  expect(make({ receivablePolicy: true })).toThrow('receivablePolicy: must be block or allow')
})

it('refuses a public URL that is no base, and a number of proxies that is none', () => {
  for (const publicUrl of [
    'api.acme.example',
    'ftp://acme.example',
    'https://acme.example/?a=1',
    'https://a@acme.example',
  ])
    expect(make({ publicUrl })).toThrow('publicUrl: must be an http or https URL')
  for (const trustedProxies of [-1, 1.5, true]) expect(make({ trustedProxies })).toThrow('trustedProxies')
})

it('refuses ports of webhooks that are none', () => {
  for (const webhookPorts of [[], [0], [65_536], ['443'], 443])
    expect(make({ webhookPorts })).toThrow('webhookPorts: must be a list of ports from 1 to 65535')
})
