import type { EventType } from '../event.ts'
import type { EventsHandler, SubscriptionRemoval } from './handlers.ts'

/** A durable named subscription. */
export interface Subscription<Tx> {
  readonly name: string
  readonly types: readonly EventType[]
  readonly handler: EventsHandler<Tx>
  /** True when the handler gets all events of a transaction in one call. It gets them one by one otherwise. */
  readonly together: boolean
  /** Events that may share one transaction. When a handler fails, all of them are rolled back and handled one by one. */
  readonly batchSize: number
  /** Time limit of one call of the handler, in milliseconds. */
  readonly timeoutMs: number
}

/** Removes subscriptions. */
export interface SubscriptionPort<Tx> {
  /**
   * Removes a subscription, or some of its types, with its undelivered events. Changes nothing when there are such events and
   * `discard` is false, nor while a process attends what is to be removed.
   */
  unsubscribe(tx: Tx, name: string, types: readonly string[] | null, discard: boolean): Promise<SubscriptionRemoval>
}
