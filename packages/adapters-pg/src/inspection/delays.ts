import type { Delays } from '@outlay/core'
import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'

const texts = {
  // Read by the partial index on unsubmitted transfers. Deferred transfers, and those that wait for funds or a person, are not due.
  unsubmitted: `select coalesce(extract(epoch from clock_timestamp() - min(greatest(t.created_at, t.not_before))) * 1000, 0)::float8 as ms
    from {{schema}}.transfer t
    where t.remote_id is null and t.status = 'pending' and t.stage in ('queued', 'submitting') and coalesce(t.not_before <= clock_timestamp(), true)`,
  subscriptions: `select l.name, l.undelivered, l.dead_letters, coalesce(extract(epoch from l.lag) * 1000, 0)::float8 as lag_ms
    from {{schema}}.subscription_lag l order by l.name`,
} as const

/** Makes the read of the delays. */
export function createDelays<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>): () => Promise<Delays> {
  const sql = statements(tokens, texts)
  return async () => {
    const [oldest] = await driver.query(sql.unsubmitted, [])
    const rows = await driver.query(sql.subscriptions, [])
    return {
      unsubmittedMs: Number(oldest?.['ms'] ?? 0),
      subscriptions: rows.map((row) => ({
        name: row['name'] as string,
        undelivered: row['undelivered'] as number,
        deadLetters: row['dead_letters'] as number,
        lagMs: Number(row['lag_ms']),
      })),
    }
  }
}
