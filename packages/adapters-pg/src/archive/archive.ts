import { Id } from '@outlay/core'
import { type ArchivedStep, type ArchiveStep, Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { type Row, statements } from '../database/statement.ts'

const texts = {
  archive_history:
    'select last_id, archived, held, held_by, referenced from {{schema}}.archive_history($1, $2, $3, $4, $5)',
} as const

/** The store of the archive. */
export type ArchiveStore = ReturnType<typeof createArchiveStore>

/** Makes the store of the archive on a driver. */
export function createArchiveStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Moves the histories of the next transfers that ended long ago to one row of the archive. */
    async archive({ olderThanMs, after, limit, dryRun }: ArchiveStep): Promise<ArchivedStep> {
      // A transfer that ended before has an id from before; the database's own clock decides.
      const before = Id.lowest(new Date(Math.max(0, Date.now() - olderThanMs + clockSlackMs)))
      const values = [after, before, Math.round(olderThanMs), limit, dryRun]
      const [row = {}] = await driver.query(sql.archive_history, values)
      return readStep(row)
    },
  }
}

/** How far the clock behind an id may be ahead of this process's, in milliseconds. */
const clockSlackMs = 3_600_000

const readStep: (row: Row) => ArchivedStep = rowDecoder('archive', {
  archived: Column.or(Column.integer, 0),
  held: Column.or(Column.integer, 0),
  heldBy: Column.or(Column.texts, []),
  referenced: Column.or(Column.integer, 0),
  last: Column.from('last_id', Column.or(Column.text, null)),
})
