import { createHmac } from 'node:crypto'
import { OutlayError, type WebhookHeaders } from '@outlay/core'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { verifyWebhook } from './webhooks.ts'

const now = new Date('2026-11-02T10:00:00Z')
const seconds = Math.floor(now.getTime() / 1000)

const verdict = (body: string | Uint8Array, headers: WebhookHeaders, secrets: string | readonly string[]): string => {
  try {
    verifyWebhook(body, headers, secrets, { now })
    return 'accepted'
  } catch (error) {
    if (OutlayError.is(error)) return error.code
    throw error
  }
}

const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((octets) => `whsec_${Buffer.from(octets).toString('base64')}`)
const ids = fc.stringMatching(/^[A-Za-z0-9_-]{1,40}$/)
const bodies = fc
  .record({ type: fc.constant('transfer.completed'), data: fc.record({ note: fc.string({ unit: 'binary' }) }) })
  .map((event) => JSON.stringify(event))

interface Signed {
  readonly secret: string
  readonly id: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** What the reference implementation signs. */
const standard: fc.Arbitrary<Signed> = fc.record({ secret: secrets, id: ids, body: bodies }).map((one) => ({
  ...one,
  headers: {
    'webhook-id': one.id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': new Webhook(one.secret).sign(one.id, now, one.body),
  },
}))

/** What only has the digest of its body. */
const digested: fc.Arbitrary<Signed> = fc.record({ secret: secrets, id: ids, body: bodies }).map((one) => ({
  ...one,
  headers: { 'x-request-signature-sha-256': createHmac('sha256', one.secret).update(one.body).digest('hex') },
}))

const signed = fc.oneof(standard, digested)

/** The same text with one character changed, cut away or put in. */
const spoilt = (text: string): fc.Arbitrary<string> =>
  fc
    .record({
      at: fc.nat(text.length - 1),
      how: fc.constantFrom('change', 'cut', 'drop', 'add'),
      by: fc.constantFrom('x', '0', '7', ' ', '='),
    })
    .map(({ at, how, by }) => {
      if (how === 'cut') return text.slice(0, at)
      if (how === 'drop') return text.slice(0, at) + text.slice(at + 1)
      return text.slice(0, at) + by + text.slice(how === 'add' ? at : at + 1)
    })
    .filter((other) => other !== text)

describe('a webhook', () => {
  test('is accepted when it arrives as it was signed, as text or as octets, with any content', () => {
    fc.assert(
      fc.property(signed, ({ secret, body, headers }) => {
        expect(verdict(body, headers, secret)).toBe('accepted')
        expect(verdict(Buffer.from(body), new Headers(headers), ['another secret', secret])).toBe('accepted')
      }),
    )
  })

  test('is not genuine under any other secret', () => {
    fc.assert(
      fc.property(signed, secrets, ({ secret, body, headers }, other) => {
        fc.pre(other !== secret)
        expect(verdict(body, headers, other)).toBe('webhook_signature_invalid')
      }),
    )
  })

  test('is not genuine with another body: a character more, less or other', () => {
    const altered = signed.chain((one) => fc.tuple(fc.constant(one), spoilt(one.body)))
    fc.assert(
      fc.property(altered, ([{ secret, headers }, body]) => {
        expect(verdict(body, headers, secret)).toBe('webhook_signature_invalid')
      }),
    )
  })

  test('is not genuine with another id, timestamp or signature', () => {
    const altered = signed.chain((one) =>
      fc
        .constantFrom(...Object.entries(one.headers))
        .chain(([name, value]) => spoilt(value).map((other) => [one, { ...one.headers, [name]: other }] as const)),
    )
    fc.assert(
      fc.property(altered, ([{ secret, body, headers: genuine }, headers]) => {
        // White space around signatures, and their letter case where they are hex, mean nothing.
        const plain = (all: Readonly<Record<string, string>>) => JSON.stringify(all).replaceAll(/ |sha256=/g, '')
        fc.pre(plain(headers) !== plain(genuine) || headers['webhook-id'] !== genuine['webhook-id'])
        fc.pre(headers['webhook-timestamp']?.trim() === headers['webhook-timestamp'])
        expect(verdict(body, headers, secret)).toBe('webhook_signature_invalid')
      }),
    )
  })

  test('is not genuine when its body was parsed and serialized differently', () => {
    fc.assert(
      fc.property(signed, ({ secret, body, headers }) => {
        const value: unknown = JSON.parse(body)
        const spellings = [
          JSON.stringify(value, null, 2),
          body.replace('type', '\\u0074ype'),
          `${body}\n`,
          `\ufeff${body}`,
          Buffer.from(body, 'utf16le'),
        ]
        for (const spelling of spellings) expect(verdict(spelling, headers, secret)).toBe('webhook_signature_invalid')
      }),
    )
  })
})
