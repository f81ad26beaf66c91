import {
  attachRaw,
  isRecord,
  type JsonRecord,
  readChoice,
  readMember,
  readOptionalText,
  readText,
  readTimestamp,
  unreadable,
  type WithRaw,
} from './json.ts'

/** A URL to which a service sends events of an account. */
export interface WebhookSubscription {
  readonly id: string
  readonly url: string
  /** Event types, `noun.*` or `*`. */
  readonly eventTypes: readonly string[]
  /** `undefined` when it is unknown. */
  readonly status: 'active' | 'disabled' | 'archived' | undefined
  /** Why the service disabled it. */
  readonly disabledReason: string | undefined
  /** ISO 8601, UTC. */
  readonly created: string | undefined
  /** ISO 8601, UTC. */
  readonly updated: string | undefined
}

/** The delivery of one event to one subscription, or by the public contract one attempt of it. */
export interface WebhookDelivery {
  readonly id: string
  readonly subscriptionId: string | undefined
  readonly eventId: string | undefined
  /** For example `transfer.completed`. */
  readonly eventType: string | undefined
  /** `undefined` when it is unknown. */
  readonly status: 'pending' | 'delivered' | 'failed' | 'canceled' | undefined
  /** Attempts so far. */
  readonly attempts: number | undefined
  /** The attempt that this row is about, from 1, where each attempt has a row. */
  readonly attemptNumber: number | undefined
  /** HTTP status of the last answer; `undefined` when there was none. */
  readonly lastStatus: number | undefined
  /** Why the last attempt failed. */
  readonly lastError: string | undefined
  /** ISO 8601, UTC. */
  readonly lastAttemptAt: string | undefined
  /** ISO 8601, UTC; `undefined` when there is no further attempt, or when it is due at once. */
  readonly nextAttemptAt: string | undefined
  /** ISO 8601, UTC. */
  readonly created: string | undefined
}

/**
 * Reads one subscription.
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeWebhookSubscription(value: unknown): WithRaw<WebhookSubscription> {
  if (!isRecord(value)) throw unreadable('', 'a webhook')
  const subscription: WebhookSubscription = {
    id: readText(value, 'id', 'id'),
    url: readText(value, 'url', 'url'),
    eventTypes: decodeEventTypes(readMember(value, 'event_types') ?? readMember(value, 'events') ?? []),
    status: readChoice(value, 'status', ['active', 'disabled', 'archived']),
    disabledReason: readOptionalText(value, 'disabled_reason'),
    created: readTimestamp(value, 'created') ?? readTimestamp(value, 'created_at'),
    updated: readTimestamp(value, 'updated') ?? readTimestamp(value, 'updated_at'),
  }
  return attachRaw(subscription, value)
}

/**
 * Reads one delivery.
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeWebhookDelivery(value: unknown): WithRaw<WebhookDelivery> {
  if (!isRecord(value)) throw unreadable('', 'a delivery')
  const id = readOptionalText(value, 'id')
  if (id === undefined) throw unreadable('id', 'a string')
  const delivery: WebhookDelivery = {
    id,
    subscriptionId: readOptionalText(value, 'subscription_id'),
    eventId: readOptionalText(value, 'event_id'),
    eventType: readOptionalText(value, 'event_type'),
    status: readChoice(value, 'status', ['pending', 'delivered', 'failed', 'canceled']),
    attempts: readCount(value, 'attempts') ?? readCount(value, 'attempt_number'),
    attemptNumber: readCount(value, 'attempt_number'),
    lastStatus: readCount(value, 'last_status') ?? readCount(value, 'status_code'),
    lastError: readOptionalText(value, 'last_error'),
    lastAttemptAt: readTimestamp(value, 'last_attempt_at'),
    nextAttemptAt: readTimestamp(value, 'next_attempt_at'),
    created: readTimestamp(value, 'created') ?? readTimestamp(value, 'created_at'),
  }
  return attachRaw(delivery, value)
}

/**
 * Reads a list of event types: `{event_types: […]}`, or a bare array. An entry is a text, or an object with the `event_type`.
 *
 * @throws OutlayError `unreadable_response`
 */
export function decodeEventTypes(value: unknown): readonly string[] {
  const types: unknown = isRecord(value) ? readMember(value, 'event_types') : value
  const names = Array.isArray(types) ? types.map(readEventType) : [undefined]
  if (!names.every((name) => name !== undefined)) throw unreadable('event_types', 'a list of event types')
  return names
}

const readEventType = (type: unknown): string | undefined => {
  if (isRecord(type)) return readOptionalText(type, 'event_type')
  return typeof type === 'string' ? type : undefined
}

/** How many webhooks receive an event again; `undefined` when the service does not say. */
export function decodeResent(value: unknown): number | undefined {
  return isRecord(value) ? readCount(value, 'deliveries') : undefined
}

const readCount = (record: JsonRecord, name: string): number | undefined => {
  const value = readMember(record, name)
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
}
