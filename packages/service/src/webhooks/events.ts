import { Id, type WebhookEventType } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'

/** An event of an account. */
export interface WebhookEvent {
  readonly accountId: string
  readonly type: WebhookEventType
  /** The resource as the API returns it, with the same masking. */
  readonly data: unknown
  /** W3C trace context to send it in. Default: the current one. */
  readonly traceparent?: string | undefined
}

/**
 * Records an event in the caller's transaction, with one delivery for each registration that matches. One statement; it
 * writes nothing when no webhook subscribes.
 */
export function recordEvent(tx: Tx, context: ServiceContext, event: WebhookEvent): Promise<void> {
  return recordEvents(tx, context, [event])
}

/** Records events as {@link recordEvent} does, in one statement for all. */
export async function recordEvents(tx: Tx, context: ServiceContext, events: readonly WebhookEvent[]): Promise<void> {
  if (events.length === 0) return
  const created = context.clock.now()
  const given = events.map(({ accountId, type, data, traceparent = context.telemetry?.current() }) => {
    const id = Id.generate(context.clock, context.random)
    const body = JSON.stringify({ id, type, created: created.toISOString(), data })
    return { id, account_id: accountId, type, patterns: patternsFor(type), body, traceparent }
  })
  await run(tx, context, insertEvents, [JSON.stringify(given), created])
}

/** The patterns that match an event type: itself, `noun.*` and `*`. */
export function patternsFor(type: string): readonly string[] {
  return [type, `${type.slice(0, type.indexOf('.'))}.*`, '*']
}

// The registrations of each account are looked up by their index: a join would read all of them, once there are many. Each is locked as
// its delivery's foreign key will lock it, so that one that is removed meanwhile is left out.
const insertEvents = statement(
  'webhook_event_insert',
  `with given as materialized (
     select * from rows from (
       jsonb_to_recordset($1::jsonb) as (id text, account_id text, type text, patterns text[], body text, traceparent text)
     ) with ordinality as g(id, account_id, type, patterns, body, traceparent, position)
   ), listener as materialized (
     select g.id as event_id, g.account_id, g.position, r.id
       from given g
      cross join lateral (
        select r.id from {{schema}}.webhook_registration r
         where r.account_id = g.account_id and r.status = 'active' and r.event_types && g.patterns
           for key share
      ) r
   ), event as (
     insert into {{schema}}.webhook_event (id, account_id, type, body, created_at, traceparent)
     select g.id, g.account_id, g.type, g.body, $2, g.traceparent from given g
      where g.id in (select event_id from listener)
   )
   insert into {{schema}}.webhook_delivery (registration_id, event_id, account_id, created_at)
   select l.id, l.event_id, l.account_id, $2 from listener l order by l.position`,
)
