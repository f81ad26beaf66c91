import { Column, type CountPort, rowDecoder, type TransferCount } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'

const texts = {
  count_transfers: 'select {{schema}}.count_transfers($1::timestamptz) as more',
  prune_counts: 'select {{schema}}.prune_counts($1::timestamptz, $2) as count',
  find_counts: `select {{schema}}.iso(date_trunc($1, c.began_at, 'UTC')) as at, c.currency, c.enqueued::float8 as enqueued, c.completed::float8 as completed,
      c.failed::float8 as failed, c.canceled::float8 as canceled, c.blocked::float8 as blocked, c.enqueued_value::text as enqueued_value,
      c.completed_value::text as completed_value, c.accepted_in, c.ended_in
    from {{schema}}.find_counts($1, $2::timestamptz, $3::timestamptz, $4::text[], $5) c`,
  count_progress: `select {{schema}}.iso(p.began_at) as begun_at, {{schema}}.iso(p.counted_to) as counted_to from {{schema}}.transfer_count_progress p`,
} as const

/** Rows deleted by one statement. */
const prunedAtOnce = 5_000

/** What workers and readers do with counts of transfers. */
export interface CountStore {
  /** Counts what is due. True when there is more of it. `at` is the time that it takes for now, for tests. Default: that of the database. */
  count(at?: string): Promise<boolean>
  /** Deletes counts that have been kept for long enough. True when there is more of them. */
  prune(at?: string): Promise<boolean>
  readonly read: CountPort['readCounts']
}

/** Makes the store of counts on a driver. */
export function createCountStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>): CountStore {
  const sql = statements(tokens, texts)
  return {
    count: async (at) => readFirst(readMore, await driver.query(sql.count_transfers, [at ?? null]))?.more ?? false,
    async prune(at) {
      const rows = await driver.query(sql.prune_counts, [at ?? null, prunedAtOnce])
      return (readFirst(readPruned, rows)?.count ?? 0) >= prunedAtOnce
    },
    async read({ step, from, to, gateway, accountIds }) {
      // First: what is counted in between is behind it, and nobody takes it for a time in which nothing happened.
      const progress = readFirst(readProgress, await driver.query(sql.count_progress, []))
      if (progress === undefined) return { counts: [], begunAt: null, countedTo: null }
      const accounts = accountIds === undefined ? [everybody] : [...new Set(accountIds)]
      const rows = await driver.query(sql.find_counts, [step, from, to, accounts, gateway ?? null])
      return { ...progress, counts: rows.map(readCount) }
    },
  }
}

/** Stands for all accounts together; no account has an empty id. */
const everybody = ''

const readMore = rowDecoder('counts', { more: Column.boolean })
const readPruned = rowDecoder('counts', { count: Column.integer })
const readProgress = rowDecoder('progress of counts', { begunAt: Column.text, countedTo: Column.text })
const readCount: (row: Row) => TransferCount = rowDecoder('count of transfers', {
  at: Column.text,
  currency: Column.text,
  enqueued: Column.number,
  completed: Column.number,
  failed: Column.number,
  canceled: Column.number,
  blocked: Column.number,
  enqueuedValue: Column.text,
  completedValue: Column.text,
  acceptedIn: Column.json<Readonly<Record<string, number>>>(),
  endedIn: Column.json<Readonly<Record<string, number>>>(),
})
