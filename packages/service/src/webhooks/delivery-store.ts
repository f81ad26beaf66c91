import { loginRequiredEventType } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'

/** What becomes of a delivery. */
export const deliveryStatuses = ['pending', 'delivered', 'failed', 'canceled'] as const

/** A delivery of an event to a webhook. */
export interface DeliveryRow {
  readonly id: string
  readonly subscription_id: string
  readonly event_id: string
  readonly event_type: string
  readonly status: (typeof deliveryStatuses)[number]
  readonly attempts: number
  /** HTTP status of the last answer; null when there was none. */
  readonly last_status: number | null
  /** Why the last attempt failed; null when it did not. */
  readonly last_error: string | null
  readonly last_attempt_at: string | null
  /** When the next attempt is due; null when there is none, or when it is due at once. */
  readonly next_attempt_at: string | null
  readonly created: string
}

/** An attempt of a delivery whose result is known. */
export interface DeliveryAttemptRow {
  readonly id: string
  readonly delivery_id: string
  readonly subscription_id: string
  readonly event_id: string
  readonly event_type: string
  readonly status: 'delivered' | 'failed'
  /** 1 for the first one. */
  readonly attempt_number: number
  /** HTTP status of the answer; null when there was none. */
  readonly status_code: number | null
  readonly error: string | null
  readonly created: string
}

/** The result of one attempt. */
export interface DeliveryOutcome {
  readonly id: string
  readonly attempt: number
  readonly status: DeliveryRow['status']
  /** ISO 8601; null when there is no further attempt. */
  readonly nextAttemptAt: string | null
  readonly lastStatus: number | null
  readonly lastError: string | null
}

/**
 * Writes the results of attempts, in one statement. It ignores an attempt whose lease expired and whose delivery was claimed
 * again. A delivery that was canceled in flight is not sent again. It waits for no other transaction: one that disables or removes a
 * webhook with many deliveries locks them for seconds. Resolves with the ids of those that are locked, to be settled again.
 */
export async function settleDeliveries(
  executor: Executor | Tx,
  context: ServiceContext,
  settlements: readonly DeliveryOutcome[],
): Promise<ReadonlySet<string>> {
  const rows = await run(executor, context, settle, [JSON.stringify(settlements)])
  return new Set(rows.map(({ id }) => id))
}

/** True when the account has a delivery of this id. */
export async function hasDelivery(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  deliveryId: string,
): Promise<boolean> {
  return (await run(executor, context, selectDelivery, [accountId, deliveryId])).length > 0
}

/**
 * Sends an event of the account again to every webhook that subscribes to its type now, except where a delivery of it is pending. Resolves with
 * the number of deliveries; `undefined` when the event does not exist.
 */
export async function resendEvent(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  eventId: string,
): Promise<number | undefined> {
  const [row] = await run(tx, context, resend, [accountId, eventId, context.clock.now()])
  return row === undefined || row.found === 0 ? undefined : row.resent
}

/** Number of events that one statement deletes. */
export const pruneSize = 1_000

/**
 * Deletes events, with their deliveries, that are older than `before` and have no pending delivery. Returns how many. It commits after
 * each {@link pruneSize} of them: while a long transaction runs, Postgres keeps the index entries of all claims.
 */
export async function pruneEvents(executor: Executor, context: ServiceContext, before: Date): Promise<number> {
  let total = 0
  for (let after: string | null = ''; after !== null; ) {
    const [row]: readonly Pruned[] = await run(executor, context, deleteEvents, [before, after, pruneSize])
    total += row?.count ?? 0
    after = row?.last ?? null
  }
  return total
}

interface Pruned {
  readonly count: number
  /** The event with the highest id among the deleted; null when there are no more. */
  readonly last: string | null
}

const readPruned: (row: Row) => Pruned = rowDecoder('pruned events', {
  count: Column.integer,
  last: Column.nullable(Column.text),
})

const readId = rowDecoder('delivery', { id: Column.text })
const readResent = rowDecoder('resent event', { found: Column.integer, resent: Column.integer })

const settle = statement(
  'webhook_delivery_settle',
  `with given as materialized (
     select * from jsonb_to_recordset($1::jsonb) as s
       (id bigint, attempt smallint, status text, "nextAttemptAt" timestamptz, "lastStatus" smallint, "lastError" text)
   ), mine as materialized (
     select d.id, d.account_id, d.last_attempt_at from given s join {{schema}}.webhook_delivery d on d.id = s.id and d.attempts = s.attempt
      where d.status in ('pending', 'canceled')
      for update of d skip locked
   ), settled as (
     update {{schema}}.webhook_delivery d
        set status = case when d.status = 'canceled' and s.status = 'pending' then d.status else s.status end,
            next_attempt_at = coalesce(s."nextAttemptAt", d.next_attempt_at),
            last_status = s."lastStatus",
            last_error = s."lastError"
       from given s join mine using (id)
      where d.id = s.id
   ), attempted as (
     -- What was canceled before it was sent is no attempt.
     insert into {{schema}}.webhook_delivery_attempt
       (delivery_id, account_id, attempt_number, status, status_code, error, attempted_at)
     select s.id, m.account_id, s.attempt, case s.status when 'delivered' then 'delivered' else 'failed' end,
            s."lastStatus", s."lastError", m.last_attempt_at
       from given s join mine m using (id)
      where s.status <> 'canceled'
     on conflict (delivery_id, attempt_number) do nothing
   )
   select d.id::text as id from given s join {{schema}}.webhook_delivery d on d.id = s.id and d.attempts = s.attempt
    where d.status in ('pending', 'canceled') and d.id not in (select id from mine)`,
  readId,
)

const selectDelivery = statement(
  'webhook_delivery_select_id',
  'select id::text as id from {{schema}}.webhook_delivery where account_id = $1 and id = $2::bigint',
  readId,
)

const resend = statement(
  'webhook_event_resend',
  `with event as (
     select id, account_id, type from {{schema}}.webhook_event where account_id = $1 and id = $2
   ), resent as (
     insert into {{schema}}.webhook_delivery (registration_id, event_id, account_id, created_at)
     select r.id, e.id, e.account_id, $3
       from event e
      cross join lateral (
        select r.id, r.event_types from {{schema}}.webhook_registration r
         where r.account_id = e.account_id and r.status = 'active' for key share
      ) r
      where case when e.type = '${loginRequiredEventType}'
            then r.id in (select registration_id from {{schema}}.webhook_delivery where event_id = e.id)
            else r.event_types && array[e.type, split_part(e.type, '.', 1) || '.*', '*'] end
        and not exists (
          select from {{schema}}.webhook_delivery d
           where d.event_id = e.id and d.registration_id = r.id and d.status = 'pending'
        )
     returning id
   )
   select (select count(*) from event)::int as found, (select count(*) from resent)::int as resent`,
  readResent,
)

const deleteEvents = statement(
  'webhook_event_prune',
  `with old as materialized (
     select e.id from {{schema}}.webhook_event e
      where e.created_at < $1 and e.id > $2
        and (
          select true from {{schema}}.webhook_delivery d where d.event_id = e.id and d.status = 'pending' limit 1
        ) is null
      order by e.id
      limit $3
   ), deleted as (
     delete from {{schema}}.webhook_event e using old where e.id = old.id
   )
   select count(*)::int as count, case when count(*) = $3 then max(id) end as last from old`,
  readPruned,
)
