import type { Obstacle } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

/** What the database knows of one gateway. Times are ISO 8601, UTC. */
export interface GatewayFacts {
  readonly name: string
  /** When a worker last said that it has it, which each does every 15 seconds; null when none ever has. */
  readonly attendedAt: string | null
  /** Milliseconds since then. */
  readonly unattendedMs: number | null
  /** Transfers whose request is under way, or whose end the service has not reported yet. */
  readonly inFlight: number
  /** Transfers that are still to be sent, without held and blocked ones. */
  readonly waiting: number
  /** Those of them that do not get through to the service, and why the oldest does not; null for none. */
  readonly obstructed: number
  readonly obstacle: Obstacle | null
  readonly obstructedSince: string | null
  /** When the service last answered a request within the last hour, with whatever it says of the transfer; null when it has not. */
  readonly lastAnswerAt: string | null
}

const texts = {
  gateway_facts: `with live as (
      select t.gateway, (count(*) filter (where t.stage = 'submitting'))::integer as in_flight,
        (count(*) filter (where t.stage in ('queued', 'awaiting_funds')))::integer as waiting,
        (count(*) filter (where t.reason = any ({{schema}}.obstacles()) and t.stage in ('queued', 'submitting')))::integer as obstructed,
        min(t.id) filter (where t.reason = any ({{schema}}.obstacles()) and t.stage in ('queued', 'submitting')) as sample
      from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending' group by t.gateway
      union all
      select t.gateway, count(*)::integer, 0, 0, null from {{schema}}.transfer t
      where t.next_poll_at is not null and t.stage = 'submitted' group by t.gateway
    ), answers as (
      select a.gateway, max(a.answered_at) as at from {{schema}}.attempt a
      where a.claimed_at > statement_timestamp() - interval '1 hour' and a.answered_at is not null
        and (a.http_status is not null or a.outcome not in ('throttled', 'unknown', 'stopped', 'resolved', 'reconciled')) group by a.gateway
    ), known as (
      select g.name from {{schema}}.attended_gateway g union select l.gateway from live l
    )
    select k.name, {{schema}}.iso(g.attended_at) as attended_at,
      round(extract(epoch from clock_timestamp() - g.attended_at) * 1000)::float8 as unattended_ms,
      coalesce(sum(l.in_flight), 0)::integer as in_flight, coalesce(sum(l.waiting), 0)::integer as waiting,
      coalesce(sum(l.obstructed), 0)::integer as obstructed,
      (select t.reason from {{schema}}.transfer t where t.id = min(l.sample)) as obstacle,
      {{schema}}.iso({{schema}}.obstructed_since(min(l.sample))) as obstructed_since,
      (select {{schema}}.iso(a.at) from answers a where a.gateway = k.name) as last_answer_at
    from known k left join {{schema}}.attended_gateway g on g.name = k.name left join live l on l.gateway = k.name
    group by k.name, g.attended_at order by k.name`,
} as const

/** Reads what is known of each gateway that a worker has or had, or that an unsettled transfer goes to. Reads all transfers that are not settled. */
export async function readGatewayFacts<Tx>(
  driver: Driver<Tx>,
  { tokens }: DatabaseNames,
): Promise<readonly GatewayFacts[]> {
  return (await driver.query(statements(tokens, texts).gateway_facts, [])).map(readFacts)
}

const readFacts: (row: Row) => GatewayFacts = rowDecoder('gateway', {
  name: Column.text,
  attendedAt: Column.nullable(Column.text),
  unattendedMs: Column.nullable(Column.number),
  inFlight: Column.integer,
  waiting: Column.integer,
  obstructed: Column.integer,
  obstacle: Column.nullable(Column.word<Obstacle>()),
  obstructedSince: Column.nullable(Column.text),
  lastAnswerAt: Column.nullable(Column.text),
})
