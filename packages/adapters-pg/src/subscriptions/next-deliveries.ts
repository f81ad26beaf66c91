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

/** Due events of one type. */
const dueText = (parameter: number) => `(select x.transfer_id, x.sequence, x.due_at from {{schema}}.delivery x
    where x.subscription = $1 and x.type = $${parameter} and x.due_at <= statement_timestamp() and not x.dead
    order by x.due_at limit {{window}})`

const ownParameters = 5

/** Makes the statements that fetch the next events: one for each number of types and each limit. */
export function createNextStatements(tokens: Readonly<Record<string, string>>, windowSize: number) {
  const made = new Map<string, Statement>()
  return (typeCount: number, limit: number, traced: boolean): Statement => {
    const key = `${typeCount}_${limit}${traced ? '_traced' : ''}_next`
    const known = made.get(key)
    if (known !== undefined) return known
    const parts = Array.from({ length: typeCount }, (_, index) => dueText(ownParameters + 1 + index))
    const due = parts.length === 1 ? parts.join() : `${parts.join(' union all ')} order by due_at limit {{window}}`
    const text = nextText.replace('{{due}}', () => due)
    const full = { ...tokens, limit: String(limit), window: String(windowSize) }
    const statement = statements(full, { [key]: traced ? withTraceContext(text, 'transfer_id') : text })[key]
    if (statement === undefined) throw new Error(`There is no statement ${key}.`)
    made.set(key, statement)
    return statement
  }
}
