import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'

/** The store of held transfers whose time to be sent has passed. */
export type ExpiredHoldStore = ReturnType<typeof createExpiredHoldStore>

/** Makes the store of expired holds on a driver. */
export function createExpiredHoldStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, { expire_held: 'select {{schema}}.expire_held($1) as count' })
  return {
    /** Ends held transfers whose time to be sent has passed as failed, as many as `limit`. Returns how many. */
    async expire(limit: number): Promise<number> {
      return readFirst(readCount, await driver.query(sql.expire_held, [limit]))?.count ?? 0
    },
  }
}

const readCount = rowDecoder('expired holds', { count: Column.integer })
