import { createHmac } from 'node:crypto'
import { OutlayError, type WebhookHeaders } from '@outlay/core'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { readObservation, type VerifyWebhookOptions, verifyWebhook } from './webhooks.ts'

const secret = `whsec_${Buffer.from('an octet string of 24 and more').toString('base64')}`
const now = new Date('2026-11-02T10:00:00Z')

const transfer = {
  id: 'transfer-1',
  status: 'complete',
  failure: null,
  amount: { value: '1250.00', currency: 'USD' },
  source: { address_id: 'a', value_type: 'USDC', transfer_type: 'base' },
  destination: { address_id: 'b', value_type: 'USD', transfer_type: 'wire' },
  created_at: '2026-11-02T09:00:00Z',
  updated_at: '2026-11-02T09:59:00Z',
}

const body = JSON.stringify({
  id: 'event-1',
  type: 'transfer.completed',
  created: '2026-11-02T09:59:01Z',
  data: transfer,
})

const standard = (text: string, key: string, at = now, id = 'event-1') => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(key).sign(id, at, text),
})

const digest = (text: string, key: string | Buffer) => createHmac('sha256', key).update(text).digest('hex')

const refusal = (
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | string[] = secret,
  options: VerifyWebhookOptions = { now },
): string => {
  try {
    verifyWebhook(rawBody, headers, secrets, options)
    return 'accepted'
  } catch (error) {
    if (OutlayError.is(error)) return error.code
    throw error
  }
}

test('what the reference implementation signs is accepted and parsed', () => {
  const event = verifyWebhook(body, standard(body, secret), secret, { now })
  expect(event).toEqual({ id: 'event-1', type: 'transfer.completed', created: '2026-11-02T09:59:01Z', data: transfer })
  expect(event.raw).toEqual(JSON.parse(body))
})

test('a published vector of the scheme is accepted', () => {
  const headers = {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  }
  const text = '{"test": 2432232314}'
  const at = new Date(1_614_265_330_000)
  const key = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
  // The vector is not an event, so a genuine signature causes an error about its content.
  expect(refusal(text, headers, key, { now: at })).toBe('unreadable_response')
  expect(refusal(`${text} `, headers, key, { now: at })).toBe('webhook_signature_invalid')
})

const published = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: '1614265330',
  text: '{"test": 2432232314}',
  signature: 'g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
}

test.each([
  ['first of several', `v1,${published.signature} v1,bm90IHRoaXM=`, 'unreadable_response'],
  ['last of several', `v1,bm90IHRoaXM= v1a,AAAA v2,AAAA v1,${published.signature}`, 'unreadable_response'],
  ['repeated', `v1,${published.signature} v1,${published.signature}`, 'unreadable_response'],
  ['behind more spaces', `  v1,${published.signature}`, 'unreadable_response'],
  ['behind sixteen others', `${'v1,bm90IHRoaXM= '.repeat(16)}v1,${published.signature}`, 'webhook_signature_invalid'],
  ['without its version', published.signature, 'webhook_signature_invalid'],
  ['under another version', `v2,${published.signature}`, 'webhook_signature_invalid'],
  ['under the version of public keys', `v1a,${published.signature}`, 'webhook_signature_invalid'],
  ['under its version in capitals', `V1,${published.signature}`, 'webhook_signature_invalid'],
  ['without its padding', `v1,${published.signature.replace('=', '')}`, 'webhook_signature_invalid'],
  ['in the alphabet of URLs', `v1,${published.signature.replace('+', '-')}`, 'webhook_signature_invalid'],
  ['in hex', `v1,${Buffer.from(published.signature, 'base64').toString('hex')}`, 'webhook_signature_invalid'],
  ['cut off', `v1,${published.signature.slice(0, -2)}`, 'webhook_signature_invalid'],
  ['empty', 'v1,', 'webhook_signature_invalid'],
])('the published signature %s', (_, signatures, expected) => {
  const { secret: key, id, timestamp, text } = published
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures }
  // A genuine one causes an error about its content, which is not an event.
  expect(refusal(text, headers, key, { now: new Date(1_614_265_330_000) })).toBe(expected)
})

test.each(['+1614265330', ' 1614265330', '1614265330.0', '0x6037B6B2', '-1614265330', '1614265330000000', 'now', ''])(
  'the timestamp "%s" is invalid, even if it is signed',
  (timestamp) => {
    const key = Buffer.from(published.secret.slice('whsec_'.length), 'base64')
    const signature = createHmac('sha256', key).update(`event-1.${timestamp}.${body}`).digest('base64')
    const headers = {
      'webhook-id': 'event-1',
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    }
    expect(refusal(body, headers, published.secret)).toBe('webhook_signature_invalid')
  },
)

test('a signature of one scheme is not valid in the other', () => {
  const headers = standard(body, secret)
  const hex = Buffer.from(headers['webhook-signature'].slice(3), 'base64').toString('hex')
  expect(refusal(body, { 'x-request-signature-sha-256': hex })).toBe('webhook_signature_invalid')
  const digested = Buffer.from(digest(body, secret), 'hex').toString('base64')
  expect(refusal(body, { ...headers, 'webhook-signature': `v1,${digested}` })).toBe('webhook_signature_invalid')
})

test('a signature with an empty secret, or with the text of a header, is not genuine', () => {
  for (const guess of ['whsec_', 'whsec_AAAA', 'event-1', 'undefined', 'null']) {
    const key = createHmac('sha256', guess)
    const headers = { ...standard(body, secret), 'webhook-signature': `v1,${key.update(body).digest('base64')}` }
    expect(refusal(body, headers)).toBe('webhook_signature_invalid')
  }
})

test('what this package accepts the reference implementation accepts as well', () => {
  const headers = standard(body, secret, new Date())
  expect(() => new Webhook(secret).verify(body, headers)).not.toThrow()
  expect(refusal(body, headers, secret, {})).toBe('accepted')
})

test('a body of octets and headers of any shape are accepted', () => {
  const headers = standard(body, secret)
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))
  expect(refusal(Buffer.from(body), new Headers(headers))).toBe('accepted')
  expect(refusal(new TextEncoder().encode(body), upper)).toBe('accepted')
  expect(refusal(body, { ...headers, 'webhook-signature': [headers['webhook-signature']] })).toBe('accepted')
})

test('the hex digest of the body is accepted, with the secret as text or as octets', () => {
  const octets = Buffer.from(secret.slice('whsec_'.length), 'base64')
  expect(refusal(body, { 'x-request-signature-sha-256': digest(body, secret) })).toBe('accepted')
  expect(refusal(body, { 'X-Request-Signature-SHA-256': digest(body, octets).toUpperCase() })).toBe('accepted')
  expect(refusal(body, { 'x-request-signature-sha-256': digest(body, 'plain text') }, 'plain text')).toBe('accepted')
})

test('any of several secrets and any of several signatures may match', () => {
  const other = `whsec_${Buffer.from('another octet string, long enough').toString('base64')}`
  const headers = standard(body, secret)
  expect(refusal(body, headers, [other, secret])).toBe('accepted')
  expect(refusal(body, headers, [other])).toBe('webhook_signature_invalid')
  const several = { ...headers, 'webhook-signature': `v1a,ignored v1,bm90IHRoaXM= ${headers['webhook-signature']}` }
  expect(refusal(body, several)).toBe('accepted')
})

test.each([
  ['another body', { ...standard(body, secret) }, `${body} `],
  ['another id', { ...standard(body, secret), 'webhook-id': 'event-2' }, body],
  ['another timestamp', { ...standard(body, secret), 'webhook-timestamp': '1793613601' }, body],
  ['a timestamp that is not a number', { ...standard(body, secret), 'webhook-timestamp': '1e9' }, body],
  ['no id', { ...standard(body, secret), 'webhook-id': undefined }, body],
  ['another version', { ...standard(body, secret), 'webhook-signature': 'v2,AAAA' }, body],
  ['an empty signature', { ...standard(body, secret), 'webhook-signature': '' }, body],
  ['a shorter digest', { 'x-request-signature-sha-256': digest(body, secret).slice(0, 63) }, body],
  ['a digest of another body', { 'x-request-signature-sha-256': digest(body, secret) }, `${body} `],
  ['no signature at all', {}, body],
])('%s is not genuine', (_, headers, text) => {
  expect(refusal(text, headers)).toBe('webhook_signature_invalid')
})

test('a wrong standard signature is refused even with a right digest', () => {
  const headers = {
    ...standard(body, secret),
    'webhook-signature': 'v1,AAAA',
    'x-request-signature-sha-256': digest(body, secret),
  }
  expect(refusal(body, headers)).toBe('webhook_signature_invalid')
})

test('a genuine webhook is out of tolerance more than five minutes away, in either direction', () => {
  for (const [offsetMs, expected] of [
    [-300_000, 'accepted'],
    [-301_000, 'webhook_timestamp_out_of_tolerance'],
    [300_000, 'accepted'],
    [301_000, 'webhook_timestamp_out_of_tolerance'],
  ] as const) {
    const at = new Date(now.getTime() + offsetMs)
    expect(refusal(body, standard(body, secret, at))).toBe(expected)
  }
  expect(
    refusal(body, standard(body, secret), secret, { now: new Date(now.getTime() + 9_000), toleranceMs: 5_000 }),
  ).toBe('webhook_timestamp_out_of_tolerance')
})

test("a missing secret is the programmer's mistake, not a refusal", () => {
  expect(() => verifyWebhook(body, standard(body, secret), [], { now })).toThrow('at least one secret')
  expect(() => verifyWebhook(body, standard(body, secret), '', { now })).toThrow('must not be empty')
})

test('a secret that decodes to very few octets is used as text only', () => {
  const forged = createHmac('sha256', Buffer.alloc(0)).update(body).digest('hex')
  expect(refusal(body, { 'x-request-signature-sha-256': forged }, 'whsec_')).toBe('webhook_signature_invalid')
  expect(refusal(body, { 'x-request-signature-sha-256': forged }, '!!!')).toBe('webhook_signature_invalid')
})

test('the notice of a bank link that needs its user has its own shape', () => {
  const notice = JSON.stringify({
    reason: 'the credentials changed',
    timestamp: '2026-11-02T09:59:01Z',
    event_type: 'ITEM_LOGIN REQUIRED',
    financial_institution_id: 'institution-1',
  })
  const event = verifyWebhook(notice, standard(notice, secret, now, 'event-7'), secret, { now })
  expect(event).toMatchObject({ id: 'event-7', type: 'ITEM_LOGIN REQUIRED', created: '2026-11-02T09:59:01Z' })
  expect(event.data).toMatchObject({ financial_institution_id: 'institution-1' })
})

test('a transfer event has an observation, and any other event has none', () => {
  const event = verifyWebhook(body, standard(body, secret), secret, { now })
  expect(readObservation(event)).toMatchObject({ remoteId: 'transfer-1', status: 'complete', failure: null })
  expect(readObservation({ ...event, data: { transfer } })).toMatchObject({ remoteId: 'transfer-1' })
  expect(readObservation({ ...event, data: { id: 'transfer-1' } })).toBeUndefined()
  expect(readObservation({ ...event, type: 'account.updated' })).toBeUndefined()
})

test('the event of a return has an observation with all that came back', () => {
  const returns = [{ code: 'R10', amount: { value: '50.00', currency: 'USD' }, occurred_at: '2026-11-09T10:00:00Z' }]
  const text = JSON.stringify({ id: 'event-2', type: 'transfer.returned', data: { ...transfer, returns } })
  const event = verifyWebhook(text, standard(text, secret), secret, { now })
  expect(readObservation(event)).toMatchObject({
    remoteId: 'transfer-1',
    status: 'complete',
    returns: [{ code: 'R10', amount: { value: '50.00', currency: 'USD' }, occurredAt: '2026-11-09T10:00:00Z' }],
  })
})
