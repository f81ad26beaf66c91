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
  /** Whose failures it shares: the first client of its account, or the account without one. */
  readonly owner: string
  /** The URL without its query, whose failures all registrations of its owner with it share. */
  readonly endpoint: string
  /** Scheme, host and port of the URL. */
  readonly host: string
  /** Whether a delivery to the registration has ever succeeded. */
  readonly proven: boolean
  /** Whether the endpoint or its host has failed since its last success, or the host for others. */
  readonly failing: boolean
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
  /** Until when the deliveries to an endpoint that is failing wait while one of them is sent as a probe. */
  readonly probeUntil: Date
  /** A delivery that was created before, by the clock of the service, fails rather than wait for its endpoint any longer. */
  readonly heldSince: Date
  /** Registrations that get nothing now. */
  readonly exceptRegistrations: readonly string[]
  /** Endpoints at their limit of deliveries in flight, each behind its owner and a space. */
  readonly exceptEndpoints: readonly string[]
  /** Clients at theirs. */
  readonly exceptClients: readonly string[]
  /** The `after` of the previous claim; empty for the first one. */
  readonly after: string
}

/** Number of the longest waiting deliveries that a claim searches for free ones first. */
const frontSize = 500

/** Maximum number of registrations that one claim visits when too few of the longest waiting deliveries are free. */
export const turnSize = 500

/** Result of a claim. */
export interface DeliveriesClaimed {
  /** What is to be sent. */
  readonly deliveries: readonly ClaimedDelivery[]
  /** How many due deliveries there were, with those that wait for an endpoint that is failing. */
  readonly taken: number
  /** Where the next claim continues. */
  readonly after: string
}

/**
 * Claims due deliveries, longest waiting first, for this process alone until `leaseUntil`. One statement, which commits at once:
 * nothing is locked while they are sent.
 *
 * What it reads is bounded, however many are due. When too few of the {@link frontSize} that wait longest are free, it visits
 * registrations in the order of their ids, {@link turnSize} at a time, and claims what waits longest at these. The next claim
 * continues after the last one of them, `after`. It is empty when no registration remains.
 *
 * A delivery whose endpoint or host is failing is put off without an attempt: see `reportEndpoints`. Once the endpoint is no longer held,
 * the first claim sends one of them as a probe.
 */
export async function claimDeliveries(
  executor: Executor,
  context: ServiceContext,
  claim: DeliveryClaim,
): Promise<DeliveriesClaimed> {
  const { exceptRegistrations, exceptEndpoints, exceptClients } = claim
  const common = [claim.now, claim.leaseUntil, claim.limit, claim.probeUntil, claim.heldSince]
  const isFree = exceptRegistrations.length + exceptEndpoints.length + exceptClients.length === 0
  const limits = [exceptRegistrations, exceptEndpoints, exceptClients, frontSize, claim.after, turnSize]
  const rows = isFree
    ? await run(executor, context, claimFirst, common)
    : await run(executor, context, claimFree, [...common, ...limits])
  const deliveries = rows.flatMap(({ delivery }) => delivery ?? [])
  return { deliveries, taken: rows[0]?.taken ?? 0, after: rows[0]?.after ?? '' }
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
  owner: Column.text,
  endpoint: Column.text,
  host: Column.text,
  proven: Column.boolean,
  failing: Column.boolean,
  body: Column.text,
  traceparent: Column.nullable(Column.text),
})

const readSummary = rowDecoder('claim', { taken: Column.integer, after: Column.text })

/** There is one row without a delivery when nothing is to be sent. */
function readClaim(row: Row) {
  return { ...readSummary(row), delivery: row['id'] === null ? undefined : readDelivery(row) }
}

/**
 * Leases the deliveries of `due` and reads what to send. What cannot be sent to an endpoint that is failing waits instead. A row of
 * `webhook_endpoint` that another claim has locked is that claim's to probe, so no claim waits for another.
 */
const leased = `target as materialized (
     select d.id, d.created_at, o.owner, r.endpoint, r.host, r.proven,
            num_nonnulls(e.key, h.key, a.key) > 0 as failing,
            case when r.status <> 'active' then null
                 when h.failures >= h.tolerance and not r.proven then h.key
                 when e.failures >= e.tolerance then e.key
            end as gate,
            greatest(
              case when h.failures >= h.tolerance and not r.proven then h.held_until end,
              case when e.failures >= e.tolerance then e.held_until end
            ) as held_until
       from due
       join {{schema}}.webhook_delivery d on d.id = due.id
       join {{schema}}.webhook_registration r on r.id = d.registration_id
      cross join lateral (
        select coalesce(min(c.client_id), d.account_id) as owner from {{schema}}.client_account c where c.account_id = d.account_id
      ) o
       left join {{schema}}.webhook_endpoint e on e.key = o.owner || ' ' || r.endpoint
       left join {{schema}}.webhook_endpoint h on h.key = o.owner || ' ' || r.host
       left join {{schema}}.webhook_endpoint a on a.key = r.host
   ), gate as materialized (
     select e.key from {{schema}}.webhook_endpoint e
      where e.key in (select gate from target where held_until <= $1) and e.held_until <= $1
        for no key update skip locked
   ), probing as (
     update {{schema}}.webhook_endpoint e set held_until = $4, probing = true from gate where e.key = gate.key
   ), decided as materialized (
     select t.*,
            case when t.gate is null then null
                 when t.held_until > $1 then t.held_until
                 when row_number() over (partition by t.gate, t.held_until <= $1 order by t.id) = 1
                      and t.gate in (select key from gate) then null
                 else $4
            end as waits_until
       from target t
   ), claimed as (
     update {{schema}}.webhook_delivery d
        set attempts = case when t.waits_until is null then d.attempts + 1 else d.attempts end,
            last_attempt_at = case when t.waits_until is null then $1 else d.last_attempt_at end,
            next_attempt_at = coalesce(t.waits_until, $2),
            status = case when t.waits_until is not null and t.created_at < $5 then 'failed' else d.status end,
            last_error = case when t.waits_until is not null then 'The endpoint fails; nothing is sent to it now.' else d.last_error end
       from decided t
      where d.id = t.id
     returning d.id, d.registration_id, d.account_id, d.event_id, d.attempts,
               t.owner, t.endpoint, t.host, t.proven, t.failing, t.waits_until
   ), leased as (
     select c.id::text as id, c.registration_id,
            (select min(a.client_id) from {{schema}}.client_account a where a.account_id = c.account_id) as client_id,
            c.event_id, c.attempts as attempt,
            r.url, r.secret, r.previous_secret, r.previous_secret_until,
            r.status = 'active' as active, c.owner, c.endpoint, c.host, c.proven, c.failing, e.body, e.traceparent
       from claimed c
       join {{schema}}.webhook_registration r on r.id = c.registration_id
       join {{schema}}.webhook_event e on e.id = c.event_id
      where c.waits_until is null
   )`

const claimFirst = statement(
  'webhook_delivery_claim_first',
  `with due as materialized (
     select id from {{schema}}.webhook_delivery
      where status = 'pending' and next_attempt_at <= $1
      order by next_attempt_at, id
      limit $3
      for update skip locked
   ), ${leased}, summary as (
     select (select count(*) from due)::int as taken, '' as after
   )
   select * from summary left join leased on true order by id::bigint`,
  readClaim,
)

/** A row `d` of no registration, endpoint and client at its limit. The scalar subqueries probe an index for each row. */
const isFree = `d.registration_id <> all ($6::text[])
        and (cardinality($7::text[]) = 0 or (select true from {{schema}}.webhook_registration r
              where r.id = d.registration_id and coalesce((
                select min(c.client_id) from {{schema}}.client_account c where c.account_id = d.account_id
              ), d.account_id) || ' ' || r.endpoint = any ($7::text[]) limit 1) is null)
        and (select true from {{schema}}.client_account a
              where a.client_id = any ($8::text[]) and a.account_id = d.account_id limit 1) is null`

// The first row of a registration in the order of the index `webhook_delivery_pending` is the one that waits longest. `between` and the
// order by registration keep the planner to that index: for an equality it may read the queue of all registrations instead. `chosen`
// has more than the claim takes, because other processes may take the same ones.
const claimFree = statement(
  'webhook_delivery_claim_free',
  `with recursive front as materialized (
     select id, registration_id, account_id, next_attempt_at from {{schema}}.webhook_delivery
      where status = 'pending' and next_attempt_at <= $1
      order by next_attempt_at, id
      limit $9
   ), free as materialized (
     select d.id, d.next_attempt_at from front d where ${isFree} order by d.next_attempt_at, d.id limit 4 * $3
   ), head (registration_id, account_id, next_attempt_at, id, number) as (
     (select registration_id, account_id, next_attempt_at, id, 1 from {{schema}}.webhook_delivery
       where status = 'pending' and registration_id > $10
         and (select count(*) from front) = $9 and (select count(*) from free) < $3
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
      where head.number < $11
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
   ), due as materialized (
     select d.id from chosen join {{schema}}.webhook_delivery d using (id, next_attempt_at)
      where d.status = 'pending'
      order by chosen.next_attempt_at, chosen.id
      limit $3
      for update of d skip locked
   ), ${leased}, summary as (
     select (select count(*) from due)::int as taken,
            case when (select count(*) from free) >= $3 then $10
                 else coalesce((select max(registration_id) from head having count(*) = $11), '') end as after
   )
   select * from summary left join leased on true order by id::bigint`,
  readClaim,
)
