import { createHmac } from 'node:crypto'
import type { Random } from '@outlay/core'

const secretPrefix = 'whsec_'

/** Makes the secret of a registration: `whsec_` and 32 random octets in base64, as Standard Webhooks specifies. */
export function newWebhookSecret(random: Random): string {
  return secretPrefix + Buffer.from(random.bytes(32)).toString('base64')
}

/**
 * The headers that prove a delivery genuine, by two schemes: those of Standard Webhooks, keyed by the octets of the secret,
 * and `x-request-signature-sha-256`, the hex HMAC-SHA256 of the body keyed by the secret's text. During a rotation,
 * `webhook-signature` has a signature of each secret; the other header has only that of the new secret.
 */
export function signDelivery(
  secret: string,
  delivery: {
    readonly eventId: string
    /** Seconds since 1970. */
    readonly timestampSeconds: number
    readonly body: string
  },
  previousSecret?: string | undefined,
): Readonly<Record<string, string>> {
  const content = `${delivery.eventId}.${delivery.timestampSeconds}.${delivery.body}`
  const secrets = previousSecret === undefined ? [secret] : [secret, previousSecret]
  return {
    'webhook-id': delivery.eventId,
    'webhook-timestamp': String(delivery.timestampSeconds),
    'webhook-signature': secrets.map((one) => signatureOf(one, content)).join(' '),
    'x-request-signature-sha-256': createHmac('sha256', secret).update(delivery.body).digest('hex'),
  }
}

function signatureOf(secret: string, content: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}
