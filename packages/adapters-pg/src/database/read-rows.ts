import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Row } from './statement.ts'

/** Reads the row of a statement that gives one at most. */
export function readFirst<T>(read: (row: Row) => T, rows: readonly Row[]): T | undefined {
  const [row] = rows
  return row === undefined ? undefined : read(row)
}

const readId = rowDecoder('id', { id: Column.text })

/** Reads the column `id` of all rows. */
export const readIds = (rows: readonly Row[]): readonly string[] => rows.map((row) => readId(row).id)
