import type { Batch } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'
import { resolveNames } from '../schema/database-names.ts'
import { createBatchStore } from './batches.ts'

const texts = {
  // The ids first, by their index: the counts of a batch are added up for those on the page alone.
  list_batches: `select b.id from {{schema}}.batch b
    where ($1::text[] is null or b.account_id = any ($1)) and ($2::text is null or b.id < $2) order by b.id desc limit $3`,
} as const

/** Which batches are listed. */
export interface BatchQuery {
  /** Only batches of these accounts. Default: all batches, those of no account too. */
  readonly accountIds?: readonly string[] | undefined
  /** Only batches with lesser ids. */
  readonly cursor?: string | undefined
  readonly limit: number
}

/** Where the batches are. */
export interface BatchListOptions<Tx> {
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
}

/** Makes the list of batches, the newest first by their ids. */
export function batchList<Tx>({
  driver,
  schema,
}: BatchListOptions<Tx>): (query: BatchQuery) => Promise<readonly Batch[]> {
  const { tokens } = resolveNames({ schema })
  const sql = statements(tokens, texts)
  const { port } = createBatchStore(driver, tokens)
  return async ({ accountIds, cursor, limit }) => {
    const rows = await driver.query(sql.list_batches, [accountIds ?? null, cursor ?? null, limit])
    const batches: Batch[] = []
    for (const row of rows) {
      const batch = await port.getBatch(readId(row).id)
      if (batch !== undefined) batches.push(batch)
    }
    return batches
  }
}

const readId = rowDecoder('batch', { id: Column.text })
