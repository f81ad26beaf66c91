import type { Backlog } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'

const texts = {
  // One statement sees one moment: in two reads, a transfer could be settled already and its events not yet recorded.
  // Partial indexes have the unsettled transfers. Of the rest only the number matters, and large numbers are estimated.
  backlog: `with live as materialized (
      select x.stage, count(*) as count from (
        select t.stage from {{schema}}.transfer t where t.remote_id is null and t.status = 'pending'
        union all
        select t.stage from {{schema}}.transfer t where t.next_poll_at is not null and t.stage = 'submitted') x
      group by x.stage
    )
    select l.stage as place, l.count::integer from live l
    union all
    select 'settled', greatest(0, (case when c.reltuples < 20000 then (select count(*) from {{schema}}.transfer)
      else c.reltuples::bigint end) - (select coalesce(sum(l.count), 0) from live l where l.stage <> 'settled'))::integer
    from pg_class c where c.oid = '{{schema}}.transfer'::regclass
    union all
    select case when d.dead then 'dead_letters' else 'undelivered' end, count(*)::integer from {{schema}}.delivery d group by d.dead`,
} as const

/** Makes the read of the backlog. */
export function createBacklog<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
): () => Promise<Backlog> {
  const sql = statements(tokens, texts)
  return async () => readBacklog(await driver.query(sql.backlog, []))
}

const readCount = rowDecoder('backlog', { place: Column.text, count: Column.integer })

function readBacklog(rows: readonly Row[]): Backlog {
  const counts = new Map(rows.map(readCount).map(({ place, count }) => [place, count]))
  const at = (names: string) => counts.get(names) ?? 0
  return {
    held: at('held'),
    queued: at('queued'),
    submitting: at('submitting'),
    awaitingFunds: at('awaiting_funds'),
    submitted: at('submitted'),
    blocked: at('blocked'),
    settled: at('settled'),
    undelivered: at('undelivered'),
    deadLetters: at('dead_letters'),
  }
}
