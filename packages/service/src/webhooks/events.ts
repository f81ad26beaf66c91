import { Id, type WebhookEventType } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'

/** An event of an account. */
export interface WebhookEvent {
  readonly accountId: string
  readonly type: WebhookEventType
  /** The resource as the API returns it, with the same masking. */
  readonly data: unknown
}

/**
 * Records an event in the caller's transaction, with one delivery for each registration that matches. One statement; it
 * writes nothing when no webhook subscribes.
 */
export async function recordEvent(tx: Tx, context: ServiceContext, event: WebhookEvent): Promise<void> {
  const id = Id.generate(context.clock, context.random)
  const created = context.clock.now()
  const body = JSON.stringify({ id, type: event.type, created: created.toISOString(), data: event.data })
  const trace = context.telemetry?.current() ?? null
  const values = [id, event.accountId, event.type, patternsFor(event.type), body, created, trace]
  await run(tx, context, insertEvent, values)
}

/** The patterns that match an event type: itself, `noun.*` and `*`. */
export function patternsFor(type: string): readonly string[] {
  return [type, `${type.slice(0, type.indexOf('.'))}.*`, '*']
}

const insertEvent = statement(
  'webhook_event_insert',
  `with listener as materialized (
     select id from {{schema}}.webhook_registration
      where account_id = $2 and status = 'active' and event_types && $4::text[]
   ), event as (
     insert into {{schema}}.webhook_event (id, account_id, type, body, created_at, traceparent)
     select $1, $2, $3, $5, $6, $7 where exists (select from listener)
   )
   insert into {{schema}}.webhook_delivery (registration_id, event_id, account_id, created_at)
   select id, $1, $2, $6 from listener`,
)
