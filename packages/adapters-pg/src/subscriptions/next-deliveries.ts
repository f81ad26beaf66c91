import { type Statement, statements } from '../database/statement.ts'
import { withTraceContext } from '../transfers/trace-contexts.ts'

/**
 * The next events of a subscription, of the types that the process handles. An earlier event of the same transfer that is not
 * acknowledged yet, dead or alive, defers the later ones, whatever process it is for. Each type has its own index scan, so that
 * events for other processes are never read; the scans are merged, and at most a window of due events is read. The limit is
 * not a parameter: Postgres would plan the statement again for each value, every time.
 *
 * The server ends the transaction when a handler is idle, or in one statement, for longer than $5.
 */
const nextText = `select d.transfer_id, d.sequence, e.type, {{schema}}.iso(e.occurred_at) as occurred_at,
    t.id, t.account_id, t.idempotency_key, t.fingerprint, t.request,
    {{schema}}.iso(t.not_before) as not_before, {{schema}}.iso(t.expires_at) as expires_at,
    e.stage, e.status, e.failure, e.remote_id, e.reason, e.attempt,
    {{schema}}.iso(t.created_at) as created_at, {{schema}}.iso(e.occurred_at) as updated_at,
    pg_backend_pid() as pid, pg_current_xact_id()::text as xact,
    set_config('idle_in_transaction_session_timeout', $5, true) as idle_limit, set_config('statement_timeout', $5, true) as statement_limit
  from ({{due}}) c
  join {{schema}}.delivery d on d.subscription = $1 and d.transfer_id = c.transfer_id and d.sequence = c.sequence
    and d.due_at <= statement_timestamp() and not d.dead
  join {{schema}}.event e on e.transfer_id = d.transfer_id and e.sequence = d.sequence
  join {{schema}}.transfer t on t.id = d.transfer_id
  where d.transfer_id <> all ($4::text[]) and t.account_id <> all ($3::text[])
    and (
      select b.sequence from {{schema}}.delivery b
      where b.subscription = $1 and b.transfer_id = c.transfer_id and b.sequence < c.sequence
        and ($2::text[] is null or b.type = any ($2))
      order by b.sequence limit 1) is null
  order by c.due_at limit {{limit}}
  for update of d skip locked`

/** Due events of one type behind a place in their order. */
const dueText = (type: number, after: number) => `(select x.transfer_id, x.sequence, x.due_at from {{schema}}.delivery x
    where x.subscription = $1 and x.type = $${type} and x.due_at <= statement_timestamp() and not x.dead
      and (x.due_at, x.transfer_id, x.sequence) > ($${after}::timestamptz, $${after + 1}, $${after + 2}::integer)
    order by x.due_at, x.transfer_id, x.sequence limit {{window}})`

const dueTexts = (typeCount: number, firstType: number, after: number): string => {
  const parts = Array.from({ length: typeCount }, (_, index) => dueText(firstType + index, after))
  return parts.length === 1
    ? parts.join()
    : `${parts.join(' union all ')} order by due_at, transfer_id, sequence limit {{window}}`
}

/** The last event of a window that is full; $1 is the subscription, and $2 to $4 are the place before the window. */
const endText = `select {{schema}}.iso(c.due_at) as due_at, c.transfer_id, c.sequence from ({{due}}) c
  order by c.due_at, c.transfer_id, c.sequence offset {{window}} - 1 limit 1`

const ownParameters = 8

/** A place in the order of due events. */
export type DuePlace = readonly [dueAt: string, transferId: string, sequence: number]

/** Before all of them. */
export const front: DuePlace = ['-infinity', '', 0]

/** Makes the statements that fetch the next events: one for each number of types and each limit. */
export function createNextStatements(tokens: Readonly<Record<string, string>>, windowSize: number) {
  const made = new Map<string, Statement>()
  const make = (key: string, limit: number, text: () => string): Statement => {
    const known = made.get(key)
    if (known !== undefined) return known
    const full = { ...tokens, limit: String(limit), window: String(windowSize) }
    const statement = statements(full, { [key]: text() })[key]
    if (statement === undefined) throw new Error(`There is no statement ${key}.`)
    made.set(key, statement)
    return statement
  }
  return {
    next: (typeCount: number, limit: number, traced: boolean): Statement =>
      make(`${typeCount}_${limit}${traced ? '_traced' : ''}_next`, limit, () => {
        const text = nextText.replace('{{due}}', () => dueTexts(typeCount, ownParameters + 1, ownParameters - 2))
        return traced ? withTraceContext(text, 'transfer_id') : text
      }),
    windowEnd: (typeCount: number): Statement =>
      make(`${typeCount}_window_end`, 1, () => endText.replace('{{due}}', () => dueTexts(typeCount, 5, 2))),
  }
}
