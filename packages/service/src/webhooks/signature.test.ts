import { createHmac } from 'node:crypto'
import { Id } from '@outlay/core'
import { seededRandom } from '@outlay/testing'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { newWebhookSecret, signDelivery } from './signature.ts'
import { secretView } from './view.ts'

const secret = newWebhookSecret(seededRandom(3))
const eventId = '01K8EVENTX7T0V3W6Y9Z2A5B8C'
const body = '{"id":"01","data":{"name":"Zoë"}}'
const keyOf = (text: string) => Buffer.from(secretView(text).sharedSecret, 'base64url')

it('is verified by a Standard Webhooks library', () => {
  const headers = signDelivery(secret, { eventId, timestampSeconds: Math.floor(Date.now() / 1000), body })
  expect(new Webhook(secret).verify(body, { ...headers })).toEqual(JSON.parse(body))
  expect(() => new Webhook(secret).verify(body.replace('01', '02'), { ...headers })).toThrow()
  expect(() => new Webhook(newWebhookSecret(seededRandom(4))).verify(body, { ...headers })).toThrow()
})

it('also carries the hex digest of the body under the octets of the secret, and the event as a UUID', () => {
  const headers = signDelivery(secret, { eventId, timestampSeconds: 1, body })
  expect(headers['x-request-signature-sha-256']).toBe(
    createHmac('sha256', keyOf(secret)).update(body, 'utf8').digest('hex'),
  )
  expect(headers['idempotency-key']).toBe(Id.toUuid(Id.parse(eventId)))
})

it('during a rotation, either secret verifies it, and the digest uses the new one', () => {
  const [next, other] = [newWebhookSecret(seededRandom(5)), newWebhookSecret(seededRandom(6))]
  const delivery = { eventId, timestampSeconds: Math.floor(Date.now() / 1000), body }
  const headers = { ...signDelivery(next, delivery, secret) }
  for (const one of [next, secret]) expect(new Webhook(one).verify(body, headers)).toEqual(JSON.parse(body))
  expect(() => new Webhook(other).verify(body, headers)).toThrow()
  expect(headers['x-request-signature-sha-256']).toBe(
    createHmac('sha256', keyOf(next)).update(body, 'utf8').digest('hex'),
  )
})
