import type { Backend } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'

const texts = {
  // Read by the partial index on unsubmitted transfers. Deferred transfers, and those that wait for funds or a person, are not due.
  unsubmitted: `select coalesce(extract(epoch from clock_timestamp() - min(greatest(t.created_at, t.not_before))) * 1000, 0)::float8 as ms
    from {{schema}}.transfer t
    where t.remote_id is null and t.status = 'pending' and t.stage in ('queued', 'submitting') and coalesce(t.not_before <= clock_timestamp(), true)`,
  subscriptions: `select l.name, l.undelivered, l.dead_letters, coalesce(extract(epoch from l.lag) * 1000, 0)::float8 as lag_ms
    from {{schema}}.subscription_lag l order by l.name`,
} as const

/** Makes the reads of the delays. */
export function createDelays<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
): Pick<Backend<Tx>, 'unsubmittedMs' | 'subscriptionDelays'> {
  const sql = statements(tokens, texts)
  return {
    unsubmittedMs: async () => readFirst(readOldest, await driver.query(sql.unsubmitted, []))?.ms ?? 0,
    subscriptionDelays: async () => (await driver.query(sql.subscriptions, [])).map(readLag),
  }
}

const readOldest = rowDecoder('delay', { ms: Column.anyNumber })

const readLag = rowDecoder('subscription lag', {
  name: Column.text,
  undelivered: Column.integer,
  deadLetters: Column.integer,
  lagMs: Column.anyNumber,
})
