import { type Statement, statements } from '../database/statement.ts'
import { metadataOf, resubmissionOf } from '../transfers/beside.ts'
import { withTraceContext } from '../transfers/trace-contexts.ts'

/**
 * Ready events behind a place, by account: $1 is the subscription, $2 the accounts that are left to others, $3 to $6 the place. The
 * accounts are found one by one in the index, so an account with many events costs the others nothing. Each account and type has
 * its own index scan: events for other processes are never read. A statement passes at most a window of accounts, reads at most a
 * window of events of each and ten windows in all.
 */
const readyText = (types: readonly number[]): string => {
  const ofType = (type: number) => `(select x.account_id, x.due_at, x.transfer_id, x.sequence from {{schema}}.delivery x
      where x.subscription = $1 and x.type = $${type} and x.account_id = a.account_id and x.ready and not x.dead
        and (x.due_at, x.transfer_id, x.sequence) > (
          case when a.step = 0 then $4::timestamptz else '-infinity' end, case when a.step = 0 then $5 else '' end,
          case when a.step = 0 then $6::integer else 0 end)
      order by x.due_at, x.transfer_id, x.sequence limit {{window}})`
  const nextOfType = (type: number) => `(select x.account_id from {{schema}}.delivery x
      where x.subscription = $1 and x.type = $${type} and x.account_id > a.account_id and x.ready and not x.dead order by x.account_id limit 1)`
  const merged = types.map(ofType).join(' union all ')
  const due = types.length === 1 ? merged : `(${merged} order by due_at, transfer_id, sequence limit {{window}})`
  return `with recursive accounts (account_id, step) as (
    select $3::text collate "C", 0
    union all
    select n.account_id, a.step + 1 from accounts a
    cross join lateral (select min(y.account_id) as account_id from (${types.map(nextOfType).join(' union all ')}) y) n
    where a.step < {{window}} and n.account_id is not null
  ), due as not materialized (
    select c.* from accounts a cross join lateral ${due} c where a.account_id <> all ($2::text[]) limit {{window}} * 10
  )`
}

/**
 * The next events of a subscription, of the types that the process handles. An earlier event of the same transfer that is not
 * acknowledged yet, dead or alive, defers the later ones, whatever process it is for. The limit is not a parameter: Postgres would
 * plan the statement again for each value, every time. Each event and its transfer are looked up by themselves: a connection keeps the
 * plan that it made while the tables were small, and a join would read them whole. For the same reason the event is locked by its key alone, which the
 * case is for: the index of ready events has all of the subscription.
 *
 * The server ends the transaction when a handler is idle, or in one statement, for longer than $9.
 */
const nextText = `{{due}}
  select f.transfer_id, f.sequence, f.failures, f.begun, e.type, {{schema}}.iso(e.occurred_at) as occurred_at,
    t.id, t.account_id, t.gateway, t.batch_id, t.idempotency_key, t.fingerprint, t.request, ${metadataOf('t.id')} as metadata,
    ${resubmissionOf('t.id')} as resubmission_of,
    {{schema}}.iso(t.not_before) as not_before, {{schema}}.iso(t.expires_at) as expires_at,
    e.stage, e.status, e.failure, e.remote_id, e.reason, e.attempt, e.returned,
    case when e.status = 'complete' then t.paid -> 'amount' end as paid_amount,
    {{schema}}.iso(t.created_at) as created_at, {{schema}}.iso(e.occurred_at) as updated_at,
    pg_backend_pid() as pid, pg_current_xact_id()::text as xact,
    set_config('idle_in_transaction_session_timeout', $9, true) as idle_limit, set_config('statement_timeout', $9, true) as statement_limit
  from (
    select l.* from due c cross join lateral (
      select d.account_id, d.due_at, d.transfer_id, d.sequence, d.failures, d.begun from {{schema}}.delivery d
      where d.subscription = $1 and d.transfer_id = c.transfer_id and d.sequence = c.sequence
        and case when d.ready then not d.dead else false end and d.transfer_id <> all ($8::text[])
        and (
          select b.sequence from {{schema}}.delivery b
          where b.subscription = $1 and b.transfer_id = d.transfer_id and b.sequence < d.sequence
            and ($7::text[] is null or b.type = any ($7))
          order by b.sequence limit 1) is null
      for update skip locked
    ) l limit {{limit}}
  ) f
  cross join lateral (
    select e.* from {{schema}}.event e where e.transfer_id = f.transfer_id and e.sequence = f.sequence limit 1
  ) e
  cross join lateral (select t.* from {{schema}}.transfer t where t.id = f.transfer_id limit 1) t
  order by f.account_id, f.due_at, f.transfer_id, f.sequence`

/** Where the events that one statement reads end; no row when it reads all that are ready. */
const endText = `{{due}}
  select p.account_id, p.due_at, p.transfer_id, p.sequence from (
    select e.account_id, {{schema}}.iso(e.due_at) as due_at, e.transfer_id, e.sequence from (
      select c.*, row_number() over (partition by c.account_id order by c.due_at, c.transfer_id, c.sequence) as of_account,
        row_number() over (order by c.account_id, c.due_at, c.transfer_id, c.sequence) as of_all from due c
    ) e
    where e.of_account = {{window}} or e.of_all = {{window}} * 10
    union all
    select a.account_id, 'infinity', '', 0 from accounts a where a.step = {{window}}
  ) p
  order by p.account_id, p.due_at limit 1`

/**
 * Defers ready events behind an earlier one of their transfer, so that nobody reads them again and again. A function gives the collation of an argument to
 * all of its texts, so the index by subscription would be of no use with that of the ids.
 */
const deferText = `{{due}}
  select {{schema}}.defer_deliveries($1, $7::text[], array_agg(c.transfer_id) collate "default", array_agg(c.sequence)) as count,
    case when count(*) = {{window}} * 2 then max(c.account_id) end as ended_at
  from (select * from due limit {{window}} * 2) c`

/** A place in the order of ready events: by account, and by time in each. */
export type DeliveryPlace = readonly [accountId: string, dueAt: string, transferId: string, sequence: number]

/** Before all of them. */
export const front: DeliveryPlace = ['', '-infinity', '', 0]

/** Behind all events of an account. */
export const behind = (accountId: string): DeliveryPlace => [accountId, 'infinity', '', 0]

/** Parameters before the types: those of every statement, and those of its own. */
const commonParameters = 6
const ownParameters = { next: 3, end: 0, defer: 1 } as const

/** Makes the statements on the next events: one for each number of types and each limit. */
export function createNextStatements(tokens: Readonly<Record<string, string>>, windowSize: number) {
  const made = new Map<string, Statement>()
  const make = (
    kind: keyof typeof ownParameters,
    typeCount: number,
    text: string,
    limit = 0,
    suffix = '',
  ): Statement => {
    const key = `${typeCount}_${limit}${suffix}_${kind}`
    const known = made.get(key)
    if (known !== undefined) return known
    const first = 1 + commonParameters + ownParameters[kind]
    const due = readyText(Array.from({ length: typeCount }, (_, index) => first + index))
    const full = { ...tokens, limit: String(limit), window: String(windowSize) }
    const statement = statements(full, { [key]: text.replace('{{due}}', () => due) })[key]
    if (statement === undefined) throw new Error(`There is no statement ${key}.`)
    made.set(key, statement)
    return statement
  }
  return {
    next: (typeCount: number, limit: number, traced: boolean): Statement =>
      traced
        ? make('next', typeCount, withTraceContext(nextText, 'transfer_id'), limit, '_traced')
        : make('next', typeCount, nextText, limit),
    end: (typeCount: number): Statement => make('end', typeCount, endText),
    defer: (typeCount: number): Statement => make('defer', typeCount, deferText),
  }
}
