import { createHmac, timingSafeEqual } from 'node:crypto'
import { type Catalog, defaultCatalog, type Observation, OutlayError, type WebhookHeaders } from '@outlay/core'
import { checkNames } from '@outlay/core/adapter'
import type { Dialect } from './dialect.ts'
import {
  attachRaw,
  isRecord,
  type JsonRecord,
  parseJson,
  readOptionalText,
  readTimestamp,
  type WithRaw,
} from './wire/json.ts'
import { decodeTransfer, observe } from './wire/transfer.ts'

/** A webhook with a valid signature. */
export interface WebhookEvent {
  /**
   * The same on every delivery of one event. Use it to detect duplicates. From the body, or else from the header `webhook-id` or
   * `idempotency-key`. The signature covers the latter header in no scheme, and the former in that of Standard Webhooks.
   */
  readonly id: string | undefined
  /** For example `transfer.completed`. */
  readonly type: string
  /** ISO 8601, UTC; `undefined` when the service sends none. */
  readonly created: string | undefined
  readonly data: unknown
}

/** Options of {@link verifyWebhook}. */
export interface VerifyWebhookOptions {
  /** Default: now. */
  readonly now?: Date | undefined
  /** Maximum difference between the timestamp and now, in either direction, in milliseconds. Default 300 000. */
  readonly toleranceMs?: number | undefined
}

/** Maximum number of signatures that are checked. Each costs a hash per secret. */
const mostSignatures = 16

/**
 * Verifies and parses a webhook. `rawBody` must be the received bytes, not a body that was parsed and serialized again.
 *
 * It supports two schemes. If the headers of Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`) are
 * present, they must be valid. `x-request-signature-sha-256`, the hex HMAC-SHA256 of the body, has no timestamp: with it alone,
 * the caller must detect duplicates by the event's id. Any of the secrets may have signed. A secret is text, base64 with or
 * without `whsec_`, or base64url.
 *
 * @throws OutlayError `webhook_signature_invalid`; `webhook_timestamp_out_of_tolerance` for a genuine webhook that is too old
 * or too new; `unreadable_response` for a genuine webhook that is not a JSON object. Error when there is no secret.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  options: VerifyWebhookOptions = {},
): WithRaw<WebhookEvent> {
  checkNames(options, ['now', 'toleranceMs'])
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).flatMap(readKeys)
  if (keys.length === 0) throw new Error('verifyWebhook needs at least one secret')
  const body = typeof rawBody === 'string' ? Buffer.from(rawBody) : rawBody
  const id = readHeader(headers, 'webhook-id')
  const signatures = readHeader(headers, 'webhook-signature')
  const digest = readHeader(headers, 'x-request-signature-sha-256')
  if (signatures !== undefined) {
    verifyStandard(body, { id, timestamp: readHeader(headers, 'webhook-timestamp'), signatures }, keys, options)
  } else if (digest !== undefined) verifyDigest(body, digest, keys)
  else throw invalid('it has no signature')
  return readEvent(body, id ?? readHeader(headers, 'idempotency-key'))
}

const invalid = (why: string): OutlayError =>
  new OutlayError('webhook_signature_invalid', `the webhook is not genuine: ${why}`)

const noMatch = 'no signature matches; check the secret, and that the body is the received bytes'

/** A secret is used as text. Base64 of either alphabet, with or without its prefix, is also used as the octets that it encodes. */
const readKeys = (secret: string): Buffer[] => {
  if (secret === '') throw new Error('a webhook secret must not be empty')
  const encoded = secret
    .replace(/^whsec_/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
  const octets = Buffer.from(encoded, 'base64')
  const isBase64 = octets.length >= 16 && octets.toString('base64').replace(/=+$/, '') === encoded.replace(/=+$/, '')
  return isBase64 ? [octets, Buffer.from(secret)] : [Buffer.from(secret)]
}

const equals = (left: string, right: string): boolean => {
  const a = Buffer.from(left)
  const b = Buffer.from(right)
  return a.length === b.length && timingSafeEqual(a, b)
}

interface StandardHeaders {
  readonly id: string | undefined
  readonly timestamp: string | undefined
  readonly signatures: string
}

const verifyStandard = (
  body: Uint8Array,
  { id, timestamp, signatures }: StandardHeaders,
  keys: readonly Buffer[],
  options: VerifyWebhookOptions,
): void => {
  if (id === undefined || timestamp === undefined) throw invalid('webhook-id or webhook-timestamp is missing')
  if (!/^\d{1,12}$/.test(timestamp)) throw invalid('webhook-timestamp is not a number of seconds')
  const given = signatures.split(' ', mostSignatures).filter((signature) => signature.startsWith('v1,'))
  const expected = keys.map((key) => sign(key, [`${id}.${timestamp}.`, body], 'base64'))
  // Every pair is compared, so that the time does not reveal which one matched.
  const matches = expected.flatMap((one) => given.map((signature) => equals(signature.slice(3), one)))
  if (!matches.includes(true)) throw invalid(noMatch)
  const distanceMs = Math.abs((options.now ?? new Date()).getTime() - Number(timestamp) * 1000)
  // A clock or a tolerance that is not a number accepts nothing.
  if (!(distanceMs <= (options.toleranceMs ?? 300_000))) {
    const message =
      'the webhook was signed too long ago, or in the future; if it is new, check the clock of this machine'
    throw new OutlayError('webhook_timestamp_out_of_tolerance', message)
  }
}

const verifyDigest = (body: Uint8Array, digest: string, keys: readonly Buffer[]): void => {
  const given = digest.replace(/^sha256=/, '').toLowerCase()
  const matches = keys.map((key) => equals(given, sign(key, [body], 'hex')))
  if (!matches.includes(true)) throw invalid(noMatch)
}

const sign = (key: Buffer, parts: readonly (string | Uint8Array)[], encoding: 'hex' | 'base64'): string => {
  const hmac = createHmac('sha256', key)
  for (const part of parts) hmac.update(part)
  return hmac.digest(encoding)
}

const readHeader = (headers: WebhookHeaders, name: string): string | undefined => {
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined
  const entry = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  return typeof entry === 'string' ? entry : Array.isArray(entry) ? entry.join(' ') : undefined
}

const readEvent = (body: Uint8Array, headerId: string | undefined): WithRaw<WebhookEvent> => {
  const value = parseJson(Buffer.from(body).toString('utf8'))
  if (!isRecord(value)) throw new OutlayError('unreadable_response', 'the webhook is not a JSON object')
  const type = readOptionalText(value, 'type') ?? readOptionalText(value, 'event_type')
  if (type === undefined) throw new OutlayError('unreadable_response', 'the webhook has no type', { field: 'type' })
  const event: WebhookEvent = {
    id: readOptionalText(value, 'id') ?? headerId,
    type,
    created: readTimestamp(value, 'created') ?? readTimestamp(value, 'timestamp'),
    // The notice of a bank link whose owner has to log in again has no envelope.
    data: value.data === undefined ? value : value.data,
  }
  return attachRaw(event, value)
}

/**
 * Reads the observation of a transfer from a verified webhook; `undefined` when the webhook is about something else or says too
 * little, in which case a poll finds the status. `dialect` is that of the gateway. `engine.webhook` includes this step. Use this function behind an event bus.
 *
 * @example
 * const event = verifyWebhook(rawBody, headers, secrets)
 * const observation = readObservation(event)
 * if (observation) await engine.transfers.observe(tx, accountId, [observation])
 */
export function readObservation(
  event: WebhookEvent,
  catalog: Catalog = defaultCatalog,
  dialect: Dialect = 'specification',
): Observation | undefined {
  if (!event.type.startsWith('transfer.') || !isRecord(event.data)) return undefined
  const data: JsonRecord = event.data
  try {
    return observe(decodeTransfer(isRecord(data.transfer) ? data.transfer : data, catalog, dialect))
  } catch (error) {
    if (OutlayError.is(error, 'unreadable_response')) return undefined
    throw error
  }
}
