import type { TransferFailure } from './transfer-failure.ts'
import type { TransferStatus } from './transfer-status.ts'

/**
 * Kinds of event that the engine records for a transfer, in the order of its life, which begins when it is enqueued here or
 * adopted from the service. `batch.completed` concerns a whole batch, and is recorded once, with one of its transfers. The last two concern
 * the whole account. They are recorded once, with the transfer whose attempt detected the change.
 */
export const eventTypes = [
  'transfer.enqueued',
  'transfer.adopted',
  'transfer.held',
  'transfer.submitted',
  'transfer.awaiting_funds',
  'transfer.blocked',
  'transfer.missing',
  'transfer.released',
  'transfer.processing',
  'transfer.completed',
  'transfer.failed',
  'transfer.canceled',
  'transfer.returned',
  'transfer.unconfirmed',
  'batch.completed',
  'account.credentials_refused',
  'account.credentials_restored',
] as const

/** Kind of an event. */
export type EventType = (typeof eventTypes)[number]

/** Kinds of event that the service announces by webhook. Specification: "Events". */
export const webhookEventTypes = [
  'transfer.created',
  'transfer.processing',
  'transfer.completed',
  'transfer.failed',
  'transfer.canceled',
  'transfer.returned',
  'account.updated',
  'automation.active',
  'financial_institution.login_required',
] as const

/** Kind of an event that the service announces. */
export type WebhookEventType = (typeof webhookEventTypes)[number]

/** An event as the service sends it. */
export interface WebhookEnvelope<Data = unknown> {
  readonly id: string
  readonly type: WebhookEventType
  /** ISO 8601, UTC. */
  readonly created: string
  readonly data: Data
}

/** The event that each status is announced with. */
export const statusEvents = {
  processing: 'transfer.processing',
  complete: 'transfer.completed',
  failed: 'transfer.failed',
  canceled: 'transfer.canceled',
} as const satisfies Partial<Record<TransferStatus, EventType & WebhookEventType>>

/** The engine's event for a new status of a transfer; `pending` is the status of a submitted transfer. */
export const statusEvent = (status: TransferStatus): EventType =>
  status === 'pending' ? 'transfer.submitted' : statusEvents[status]

/** The part of a transfer that its events depend on. */
interface Reached {
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
}

/**
 * The event for a change of status; `undefined` when there is none. A transfer that fails again, or for good, gets
 * another event.
 */
export const eventOfChange = (
  from: Reached,
  to: Reached,
): (typeof statusEvents)[keyof typeof statusEvents] | undefined => {
  if (to.status === 'pending') return undefined
  const again = to.status === 'failed' && from.failure?.occurredAt !== to.failure?.occurredAt
  const final = to.status === 'failed' && from.failure?.retriable !== to.failure?.retriable
  return from.status !== to.status || again || final ? statusEvents[to.status] : undefined
}
