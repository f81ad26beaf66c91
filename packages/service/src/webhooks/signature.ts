import { createHmac } from 'node:crypto'
import { Id, type Random } from '@outlay/core'

const secretPrefix = 'whsec_'

/** Makes the secret of a registration: `whsec_` and 32 random octets in base64, as Standard Webhooks specifies. */
export function newWebhookSecret(random: Random): string {
  return secretPrefix + Buffer.from(random.bytes(32)).toString('base64')
}

/**
 * The headers that prove a delivery genuine, by two schemes: those of Standard Webhooks, keyed by the octets of the secret,
 * and `x-request-signature-sha-256`, the hex HMAC-SHA256 of the body, keyed by the same octets. During a rotation,
 * `webhook-signature` has a signature of each secret; the other header has only that of the new secret. `idempotency-key` is the id of the
 * event as a UUID, the same on every attempt.
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
    'x-request-signature-sha-256': createHmac('sha256', keyOf(secret)).update(delivery.body).digest('hex'),
    'idempotency-key': Id.toUuid(Id.parse(delivery.eventId)),
  }
}

function signatureOf(secret: string, content: string): string {
  return `v1,${createHmac('sha256', keyOf(secret)).update(content).digest('base64')}`
}

function keyOf(secret: string): Buffer {
  return Buffer.from(secret.slice(secretPrefix.length), 'base64')
}
