import { loginRequiredEventType } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, type Row, run, type Statement, statement } from '../database/statement.ts'

/** A delivery of an event to a webhook. */
export interface DeliveryRow {
  readonly id: string
  readonly subscription_id: string
  readonly event_id: string
  readonly event_type: string
  readonly status: 'pending' | 'delivered' | 'failed' | 'canceled'
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

/** A page of the deliveries of an account, or of their attempts. */
export interface DeliveryQuery {
  readonly accountId: string
  readonly subscriptionId?: string | undefined
  readonly eventId?: string | undefined
  readonly status?: string | undefined
  readonly direction: 'forward' | 'backward'
  readonly position?: string | undefined
  readonly limit: number
}

/** Reads the deliveries of an account, newest first. In the direction `backward`, the oldest after the position come first. */
export function listDeliveries(
  executor: Executor | Tx,
  context: ServiceContext,
  query: DeliveryQuery,
): Promise<readonly DeliveryRow[]> {
  return run(executor, context, lists[query.direction], [
    query.accountId,
    query.subscriptionId ?? null,
    query.eventId ?? null,
    query.status ?? null,
    query.position ?? null,
    query.limit,
  ])
}

/** Reads the attempts of the deliveries of an account whose results are known, newest first, or backward as {@link listDeliveries}. */
export function listAttempts(
  executor: Executor | Tx,
  context: ServiceContext,
  query: DeliveryQuery & { readonly deliveryId?: string | undefined },
): Promise<readonly DeliveryAttemptRow[]> {
  return run(executor, context, attemptLists[query.direction], [
    query.accountId,
    query.subscriptionId ?? null,
    query.eventId ?? null,
    query.status ?? null,
    query.position ?? null,
    query.limit,
    query.deliveryId ?? null,
  ])
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

const readDelivery: (row: Row) => DeliveryRow = rowDecoder('delivery', {
  id: Column.text,
  subscription_id: Column.text,
  event_id: Column.text,
  event_type: Column.text,
  status: Column.word<DeliveryRow['status']>(),
  attempts: Column.integer,
  last_status: Column.nullable(Column.integer),
  last_error: Column.nullable(Column.text),
  last_attempt_at: Column.nullable(Column.isoTime),
  next_attempt_at: Column.nullable(Column.isoTime),
  created: Column.isoTime,
})

const readAttempt: (row: Row) => DeliveryAttemptRow = rowDecoder('delivery attempt', {
  id: Column.text,
  delivery_id: Column.text,
  subscription_id: Column.text,
  event_id: Column.text,
  event_type: Column.text,
  status: Column.word<DeliveryAttemptRow['status']>(),
  attempt_number: Column.integer,
  status_code: Column.nullable(Column.integer),
  error: Column.nullable(Column.text),
  created: Column.isoTime,
})

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

const list = (name: string, comparison: '<' | '>', order: 'asc' | 'desc'): Statement<DeliveryRow> =>
  statement(
    name,
    `select d.id::text as id, d.registration_id as subscription_id, d.event_id, e.type as event_type, d.status,
            d.attempts, d.last_status, d.last_error, d.last_attempt_at,
            case when d.status = 'pending' and isfinite(d.next_attempt_at) then d.next_attempt_at end as next_attempt_at,
            d.created_at as created
       from {{schema}}.webhook_delivery d
       join {{schema}}.webhook_event e on e.id = d.event_id
      where d.account_id = $1
        and ($2::text is null or d.registration_id = $2)
        and ($3::text is null or d.event_id = $3)
        and ($4::text is null or d.status = $4)
        and ($5::bigint is null or d.id ${comparison} $5)
      order by d.id ${order}
      limit $6`,
    readDelivery,
  )

const lists: Readonly<Record<'forward' | 'backward', Statement<DeliveryRow>>> = {
  forward: list('webhook_delivery_list_forward', '<', 'desc'),
  backward: list('webhook_delivery_list_backward', '>', 'asc'),
}

const attemptList = (name: string, comparison: '<' | '>', order: 'asc' | 'desc'): Statement<DeliveryAttemptRow> =>
  statement(
    name,
    `select a.id::text as id, a.delivery_id::text as delivery_id, d.registration_id as subscription_id, d.event_id,
            e.type as event_type, a.status, a.attempt_number, a.status_code, a.error, a.attempted_at as created
       from {{schema}}.webhook_delivery_attempt a
       join {{schema}}.webhook_delivery d on d.id = a.delivery_id
       join {{schema}}.webhook_event e on e.id = d.event_id
      where a.account_id = $1
        and ($2::text is null or d.registration_id = $2)
        and ($3::text is null or d.event_id = $3)
        and ($4::text is null or a.status = $4)
        and ($5::bigint is null or a.id ${comparison} $5)
        and ($7::bigint is null or a.delivery_id = $7)
      order by a.id ${order}
      limit $6`,
    readAttempt,
  )

const attemptLists: Readonly<Record<DeliveryQuery['direction'], Statement<DeliveryAttemptRow>>> = {
  forward: attemptList('webhook_delivery_attempt_list_forward', '<', 'desc'),
  backward: attemptList('webhook_delivery_attempt_list_backward', '>', 'asc'),
}

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
