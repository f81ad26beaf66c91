import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Row } from '../database/statement.ts'

/** Transfers in the same condition. */
export interface Group {
  readonly count: number
  /** The oldest of them, at most five. */
  readonly samples: readonly string[]
  /** Milliseconds since the oldest has been in it; null when there is none. */
  readonly oldestMs: number | null
}

/** An interval in milliseconds. */
export const intervalMs = (interval: string) => `round(extract(epoch from ${interval}) * 1000)::float8`

/** Selects a group from rows `g (id, at)`. */
export const groupText = `count(*)::integer as count, ${intervalMs('clock_timestamp() - min(g.at)')} as oldest_ms,
  coalesce((array_agg(g.id order by g.at, g.id))[1:5], '{}') as samples`

/** The columns of a group. */
export const groupColumns = {
  count: Column.integer,
  samples: Column.texts,
  oldestMs: Column.nullable(Column.number),
}

/** Reads a row of `groupText`. */
export const readGroup: (row: Row) => Group = rowDecoder('group', groupColumns)
