import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

/** What screening keeps waiting. */
export interface ScreeningFacts {
  /** Transfers that are due to be screened and that nobody asks about. */
  readonly due: number
  /** Milliseconds since the first of them is due; null where there is none. */
  readonly dueMs: number | null
  /** Transfers about which the screener gave no answer the last time. */
  readonly failing: number
  /** Milliseconds since the first of these calls; null where there is none. */
  readonly failingMs: number | null
  /** What the call that came last of them said. */
  readonly lastError: string | null
  /** Transfers that an answer has put on hold. */
  readonly onHold: number
  /** One of each kind that there is, the oldest. */
  readonly samples: readonly string[]
}

const ms = (since: string) => `round(extract(epoch from clock_timestamp() - ${since}) * 1000)::float8`

const texts = {
  screening_facts: `select (count(*) filter (where w.is_due))::integer as due, ${ms('min(w.due_at) filter (where w.is_due)')} as due_ms,
      (count(*) filter (where w.failing_since is not null))::integer as failing, ${ms('min(w.failing_since)')} as failing_ms,
      (array_agg(w.last_error order by w.due_at desc) filter (where w.last_error is not null))[1] as last_error,
      (count(*) filter (where w.on_hold))::integer as on_hold,
      array_remove(array[(array_agg(w.transfer_id order by w.due_at, w.transfer_id) filter (where w.is_due))[1],
        (array_agg(w.transfer_id order by w.failing_since, w.transfer_id) filter (where w.failing_since is not null))[1]], null) as samples
    from (
      select s.*, not s.on_hold and s.failing_since is null and s.due_at < statement_timestamp() as is_due
      from {{schema}}.screening s join {{schema}}.transfer t on t.id = s.transfer_id and t.stage = 'held'
    ) w`,
} as const

/** Reads what screening keeps waiting: every transfer that waits to be screened. */
export async function readScreeningFacts<Tx>(driver: Driver<Tx>, { tokens }: DatabaseNames): Promise<ScreeningFacts> {
  const [row = {}] = await driver.query(statements(tokens, texts).screening_facts, [])
  return readFacts(row)
}

const readFacts: (row: Row) => ScreeningFacts = rowDecoder('screening', {
  due: Column.integer,
  dueMs: Column.nullable(Column.number),
  failing: Column.integer,
  failingMs: Column.nullable(Column.number),
  lastError: Column.nullable(Column.text),
  onHold: Column.integer,
  samples: Column.texts,
})
