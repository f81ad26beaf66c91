import type { EventType } from '../event.ts'
import type { ReturnedAmount } from '../transfer-return.ts'
import type { StoredTransfer } from './stored-transfer.ts'

/** What every event has. */
export interface RecordedEvent<Type extends EventType> {
  /** Identifies the event; the same on every delivery. */
  readonly id: string
  readonly type: Type
  readonly accountId: string
  readonly transferId: string
  /** 1, 2, 3 … within one transfer. */
  readonly sequence: number
  /** ISO 8601, UTC. */
  readonly occurredAt: string
  /** The transfer as it was when the event was recorded; its `paidAmount` is the newest that is known. */
  readonly transfer: StoredTransfer
  /** W3C trace context of the transfer's enqueue, if engines have telemetry and the transfer was enqueued with one. */
  readonly traceparent?: string | undefined
}

/** An event as it is delivered to a subscriber, whose types it is of. Only one of the type `transfer.returned` has a `returned`. */
export type TransferEvent<Type extends EventType = EventType> = Type extends 'transfer.returned'
  ? RecordedEvent<Type> & {
      /** What came back of the transfer: one event for each return. */
      readonly returned: ReturnedAmount
    }
  : RecordedEvent<Type> & { readonly returned?: undefined }

/** What a handler receives beside the event and the transaction. */
export interface HandlerContext {
  /** Aborted when the handler's time is over, or when the engine stops and cannot wait. Its writes are then rolled back. */
  readonly signal: AbortSignal
}

/**
 * Handles one event inside a transaction; its writes commit together with the acknowledgement. The engine commits and rolls
 * back: a handler that does so itself has failed.
 */
export type EventHandler<Tx, Type extends EventType = EventType> = (
  event: TransferEvent<Type>,
  tx: Tx,
  context: HandlerContext,
) => Promise<void>

/**
 * Handles events of different transfers inside one transaction, all at once, as {@link EventHandler} handles one. There is at least
 * one.
 */
export type EventsHandler<Tx, Type extends EventType = EventType> = (
  events: readonly TransferEvent<Type>[],
  tx: Tx,
  context: HandlerContext,
) => Promise<void>

/** The result of removing a subscription, or some of its types. */
export interface SubscriptionRemoval {
  /** False when there is no such subscription, and no undelivered event of one. */
  readonly known: boolean
  readonly removed: boolean
  /** Its undelivered events, dead letters included. */
  readonly pending: number
  /** For how long it still counts as attended by a process, in milliseconds; 0 when no process attends it. */
  readonly attendedForMs: number
}
