import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'

/** A delivery that this process has claimed until its lease ends. */
export interface ClaimedDelivery {
  readonly id: string
  readonly registrationId: string
  /** One of the clients of the account, whose share of the capacity it uses. */
  readonly clientId: string | null
  readonly eventId: string
  /** 1 for the first attempt; fences the settlement. */
  readonly attempt: number
  readonly url: string
  /** Sealed; null for a notice, which is not signed. */
  readonly secret: string | null
  /** Sealed; the secret that `secret` replaced, and until when it signs too. */
  readonly previousSecret: string | null
  readonly previousSecretUntil: Date | null
  readonly active: boolean
  /** The exact text to send. */
  readonly body: string
  /** W3C context of the trace of the event. */
  readonly traceparent: string | null
}

/** What a claim may take. */
export interface DeliveryClaim {
  readonly now: Date
  readonly leaseUntil: Date
  readonly limit: number
  /** Registrations at their limit of deliveries in flight. */
  readonly exceptRegistrations: readonly string[]
  /** Clients at theirs. */
  readonly exceptClients: readonly string[]
  /** The `after` of the previous claim; empty for the first one. */
  readonly after: string
}

/** Number of the longest waiting deliveries that a claim searches for free ones first. */
const frontSize = 500

/** Maximum number of registrations that one claim visits when too few of the longest waiting deliveries are free. */
export const turnSize = 500

/**
 * Claims due deliveries, longest waiting first, for this process alone until `leaseUntil`. One statement, which commits at once:
 * nothing is locked while they are sent.
 *
 * What it reads is bounded, however many are due. When too few of the {@link frontSize} that wait longest are free, it visits
 * registrations in the order of their ids, {@link turnSize} at a time, and claims what waits longest at these. The next claim
 * continues after the last one of them, `after`. It is empty when no registration remains.
 */
export async function claimDeliveries(
  executor: Executor,
  context: ServiceContext,
  claim: DeliveryClaim,
): Promise<{ readonly deliveries: readonly ClaimedDelivery[]; readonly after: string }> {
  const { now, leaseUntil, limit, exceptRegistrations, exceptClients } = claim
  if (exceptRegistrations.length === 0 && exceptClients.length === 0) {
    const deliveries = await run(executor, context, claimFirst, [now, leaseUntil, limit])
    return { deliveries, after: '' }
  }
  const values = [now, leaseUntil, limit, exceptRegistrations, exceptClients, frontSize, claim.after, turnSize]
  const rows = await run(executor, context, claimFree, values)
  const deliveries = rows.flatMap(({ delivery }) => delivery ?? [])
  return { deliveries, after: rows[0]?.after ?? '' }
}

const readDelivery: (row: Row) => ClaimedDelivery = rowDecoder('claimed delivery', {
  id: Column.text,
  registrationId: Column.text,
  clientId: Column.nullable(Column.text),
  eventId: Column.text,
  attempt: Column.integer,
  url: Column.text,
  secret: Column.nullable(Column.text),
  previousSecret: Column.nullable(Column.text),
  previousSecretUntil: Column.nullable(Column.date),
  active: Column.boolean,
  body: Column.text,
  traceparent: Column.nullable(Column.text),
})

const readVisited = rowDecoder('visited registrations', { after: Column.text })

/** There is one row without a delivery when nothing was claimed. */
function readFree(row: Row) {
  return { ...readVisited(row), delivery: row['id'] === null ? undefined : readDelivery(row) }
}

/** Leases the deliveries of `due` and reads what to send. */
const leased = `claimed as (
     update {{schema}}.webhook_delivery d
        set attempts = d.attempts + 1, last_attempt_at = $1, next_attempt_at = $2
       from due
      where d.id = due.id
     returning d.id, d.registration_id, d.account_id, d.event_id, d.attempts
   ), leased as (
     select c.id::text as id, c.registration_id,
            (select min(a.client_id) from {{schema}}.client_account a where a.account_id = c.account_id) as client_id,
            c.event_id, c.attempts as attempt,
            r.url, r.secret, r.previous_secret, r.previous_secret_until,
            r.status = 'active' as active, e.body, e.traceparent
       from claimed c
       join {{schema}}.webhook_registration r on r.id = c.registration_id
       join {{schema}}.webhook_event e on e.id = c.event_id
   )`

const claimFirst = statement(
  'webhook_delivery_claim_first',
  `with due as (
     select id from {{schema}}.webhook_delivery
      where status = 'pending' and next_attempt_at <= $1
      order by next_attempt_at, id
      limit $3
      for update skip locked
   ), ${leased}
   select * from leased order by id::bigint`,
  readDelivery,
)

/** A row `d` of no registration and no client at its limit. The scalar subquery probes an index for each row. */
const isFree = `d.registration_id <> all ($4::text[])
        and (select true from {{schema}}.client_account a
              where a.client_id = any ($5::text[]) and a.account_id = d.account_id limit 1) is null`

// The first row of a registration in the order of the index `webhook_delivery_pending` is the one that waits longest. `between` and the
// order by registration keep the planner to that index: for an equality it may read the queue of all registrations instead. `chosen`
// has more than the claim takes, because other processes may take the same ones.
const claimFree = statement(
  'webhook_delivery_claim_free',
  `with recursive front as materialized (
     select id, registration_id, account_id, next_attempt_at from {{schema}}.webhook_delivery
      where status = 'pending' and next_attempt_at <= $1
      order by next_attempt_at, id
      limit $6
   ), free as materialized (
     select d.id, d.next_attempt_at from front d where ${isFree} order by d.next_attempt_at, d.id limit 4 * $3
   ), head (registration_id, account_id, next_attempt_at, id, number) as (
     (select registration_id, account_id, next_attempt_at, id, 1 from {{schema}}.webhook_delivery
       where status = 'pending' and registration_id > $7
         and (select count(*) from front) = $6 and (select count(*) from free) < $3
       order by registration_id, next_attempt_at, id
       limit 1)
     union all
     select next.*, head.number + 1
       from head cross join lateral (
         select d.registration_id, d.account_id, d.next_attempt_at, d.id from {{schema}}.webhook_delivery d
          where d.status = 'pending' and d.registration_id > head.registration_id
          order by d.registration_id, d.next_attempt_at, d.id
          limit 1
       ) next
      where head.number < $8
   ), turn as (
     select d.registration_id from head d where d.next_attempt_at <= $1 and ${isFree}
      order by d.next_attempt_at, d.id
      limit $3
   ), chosen as (
     select id, next_attempt_at from free
     union
     select d.id, d.next_attempt_at
       from turn cross join lateral (
         select d.id, d.next_attempt_at from {{schema}}.webhook_delivery d
          where d.status = 'pending' and d.registration_id between turn.registration_id and turn.registration_id
            and d.next_attempt_at <= $1
          order by d.registration_id, d.next_attempt_at, d.id
          limit $3
       ) d
      order by next_attempt_at, id
      limit 4 * $3
   ), due as (
     select d.id from chosen join {{schema}}.webhook_delivery d using (id, next_attempt_at)
      where d.status = 'pending'
      order by chosen.next_attempt_at, chosen.id
      limit $3
      for update of d skip locked
   ), ${leased}, visited as (
     select case when (select count(*) from free) >= $3 then $7
                 else coalesce((select max(registration_id) from head having count(*) = $8), '') end as after
   )
   select * from visited left join leased on true order by id::bigint`,
  readFree,
)
