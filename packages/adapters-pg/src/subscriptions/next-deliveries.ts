import { statements } from '../database/statement.ts'
import { metadataOf, resubmissionOf } from '../transfers/beside.ts'
import { withTraceContext } from '../transfers/trace-contexts.ts'

/** Parameters that all statements on ready events begin with: the subscription, the accounts that are left to others, a place, and the types that the process handles. */
const behindPlace = '$1, $2::text[], $3, $4::timestamptz, $5, $6::integer, $7::text[]'

/**
 * The next events of a subscription. Each event and its transfer are looked up by themselves: a connection keeps the
 * plan that it made while the tables were small, and a join would read them whole.
 *
 * The server ends the transaction when a handler is idle, or in one statement, for longer than $11.
 */
const nextText = `select f.transfer_id, f.sequence, f.failures, f.begun, e.type, {{schema}}.iso(e.occurred_at) as occurred_at,
    t.id, t.account_id, t.gateway, t.batch_id, t.idempotency_key, t.fingerprint, t.request, ${metadataOf('t.id')} as metadata,
    ${resubmissionOf('t.id')} as resubmission_of,
    {{schema}}.iso(t.not_before) as not_before, {{schema}}.iso(t.expires_at) as expires_at,
    e.stage, e.status, e.failure, e.remote_id, e.reason, e.attempt, e.returned,
    case when e.status = 'complete' then t.paid -> 'amount' end as paid_amount,
    {{schema}}.iso(t.created_at) as created_at, {{schema}}.iso(e.occurred_at) as updated_at,
    pg_backend_pid() as pid, pg_current_xact_id()::text as xact,
    set_config('idle_in_transaction_session_timeout', $11, true) as idle_limit, set_config('statement_timeout', $11, true) as statement_limit
  from {{schema}}.next_deliveries(${behindPlace}, $8::text[], $9::text[], $10::integer, {{window}}) f
  cross join lateral (
    select e.* from {{schema}}.event e where e.transfer_id = f.transfer_id and e.sequence = f.sequence limit 1
  ) e
  cross join lateral (select t.* from {{schema}}.transfer t where t.id = f.transfer_id limit 1) t
  order by f.account_id, f.due_at, f.transfer_id, f.sequence`

const texts = {
  deliveries_next: nextText,
  traced_deliveries_next: withTraceContext(nextText, 'transfer_id'),
  /** Where the events that one statement reads end; no row when it reads all that are ready. */
  deliveries_end: `select e.account_id, case when e.transfer_id = '' then 'infinity' else {{schema}}.iso(e.due_at) end as due_at, e.transfer_id, e.sequence
    from (
      select c.*, row_number() over (partition by c.account_id order by c.due_at, c.transfer_id, c.sequence) as of_account,
        row_number() over (order by c.account_id, c.due_at, c.transfer_id, c.sequence) as of_all
      from {{schema}}.ready_deliveries(${behindPlace}, {{window}}, {{window}}, {{window}} * 10) c
    ) e
    where e.transfer_id = '' or e.of_account = {{window}} or e.of_all = {{window}} * 10
    order by e.account_id, e.of_all limit 1`,
  /**
   * Defers ready events behind an earlier one of their transfer, so that nobody reads them again and again. A function gives the collation of an argument to
   * all of its texts, so the index by subscription would be of no use with that of the ids.
   */
  deliveries_behind: `select {{schema}}.defer_deliveries($1, $8::text[], array_agg(c.transfer_id) collate "default", array_agg(c.sequence)) as count,
      case when count(*) = {{window}} * 2 then max(c.account_id) end as ended_at
    from {{schema}}.ready_deliveries(${behindPlace}, {{window}}, {{window}}, {{window}} * 2) c where c.transfer_id <> ''`,
}

/** A place in the order of ready events: by account, and by time in each. */
export type DeliveryPlace = readonly [accountId: string, dueAt: string, transferId: string, sequence: number]

/** Before all of them. */
export const front: DeliveryPlace = ['', '-infinity', '', 0]

/** Behind all events of an account. */
export const behind = (accountId: string): DeliveryPlace => [accountId, 'infinity', '', 0]

/** Makes the statements on the next events; each reads the events of so many accounts, and as many of each. */
export const createNextStatements = (tokens: Readonly<Record<string, string>>, windowSize: number) =>
  statements({ ...tokens, window: String(windowSize) }, texts)
