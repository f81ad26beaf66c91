import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'
import type { DatabaseNames } from '../schema/database-names.ts'

const texts = { policies_prepared: 'select {{schema}}.has_payment_indexes() as is_there' } as const

/** Reads whether the indexes are there by which policies find earlier transfers. */
export async function readPrepared<Tx>(driver: Driver<Tx>, { tokens }: DatabaseNames): Promise<boolean> {
  const { policies_prepared } = statements(tokens, texts)
  return readFirst(readIsThere, await driver.query(policies_prepared, []))?.isThere === true
}

const readIsThere = rowDecoder('indexes', { isThere: Column.boolean })
