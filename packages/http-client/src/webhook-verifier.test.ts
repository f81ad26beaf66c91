import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { type HttpWebhooksOptions, httpWebhooks } from './webhook-verifier.ts'

const secret = `whsec_${Buffer.from('an octet string of 24 and more').toString('base64')}`
const now = new Date('2026-11-02T10:00:00Z')

const body = JSON.stringify({
  id: 'event-1',
  type: 'transfer.completed',
  created: '2026-11-02T09:59:01Z',
  data: {
    id: 'transfer-1',
    status: 'complete',
    failure: null,
    amount: { value: '1250.00', currency: 'USD' },
    source: { address_id: 'a', value_type: 'USDC', transfer_type: 'base' },
    destination: { address_id: 'b', value_type: 'USD', transfer_type: 'wire' },
    created_at: '2026-11-02T09:00:00Z',
    updated_at: '2026-11-02T09:59:00Z',
  },
})

const standard = (at: Date, text = body) => ({
  'webhook-id': 'event-1',
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(secret).sign('event-1', at, text),
})
const digest = { 'x-request-signature-sha-256': createHmac('sha256', secret).update(body).digest('hex') }

const open = (options: Partial<HttpWebhooksOptions> = {}) =>
  httpWebhooks({
    secrets: (accountId) => (accountId === 'acme' ? secret : undefined),
    clock: { now: () => now },
    ...options,
  })

test('a genuine webhook is read into an observation, in either scheme and from octets too', async () => {
  const observation = { remoteId: 'transfer-1', status: 'complete', failure: null }
  const headers = standard(now)
  expect(await open().verify({ body, headers }, 'acme')).toMatchObject(observation)
  expect(await open().verify({ body: Buffer.from(body), headers: new Headers(headers) }, 'acme')).toMatchObject(
    observation,
  )
  expect(await open().verify({ body, headers: digest }, 'acme')).toMatchObject(observation)
})

test('a webhook about something else has no observation', async () => {
  const text = JSON.stringify({ id: 'event-2', type: 'account.updated', data: { id: 'acme' } })
  expect(await open().verify({ body: text, headers: standard(now, text) }, 'acme')).toBeUndefined()
})

test('every webhook of an account without secrets is refused as a forgery', async () => {
  for (const secrets of [() => undefined, () => [], async () => []]) {
    const verified = open({ secrets }).verify({ body, headers: digest }, 'acme')
    await expect(verified).rejects.toMatchObject({ code: 'webhook_signature_invalid' })
  }
  const verified = open().verify({ body, headers: digest }, 'somebody-else')
  await expect(verified).rejects.toMatchObject({ code: 'webhook_signature_invalid' })
})

test('the old and the new secret are both valid during a rotation', async () => {
  const secrets = async () => ['a new secret of some length', secret]
  expect(await open({ secrets }).verify({ body, headers: standard(now) }, 'acme')).toBeDefined()
})

test('the clock and the tolerance decide about the timestamp', async () => {
  const late = { body, headers: standard(new Date(now.getTime() - 60_000)) }
  expect(await open().verify(late, 'acme')).toBeDefined()
  await expect(open({ toleranceMs: 30_000 }).verify(late, 'acme')).rejects.toMatchObject({
    code: 'webhook_timestamp_out_of_tolerance',
  })
})

test('an error of the vault is rethrown', async () => {
  const secrets = () => Promise.reject(new Error('the vault is sealed'))
  await expect(open({ secrets }).verify({ body, headers: digest }, 'acme')).rejects.toThrow('the vault is sealed')
})
