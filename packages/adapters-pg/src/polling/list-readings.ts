import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'

const texts = {
  lease_list_reading: 'select * from {{schema}}.lease_list_reading($1, $2, $3)',
  keep_reading: `update {{schema}}.list_reading r
    set cursor = $2, patience = $3, leased_until = clock_timestamp() + $4 * interval '1 millisecond'
    from (select f.account_id from {{schema}}.list_reading f where f.account_id = $1 for no key update skip locked) f
    where r.account_id = f.account_id`,
  end_reading: `delete from {{schema}}.list_reading r where r.account_id in (
    select f.account_id from {{schema}}.list_reading f where f.account_id = $1 for update skip locked)`,
} as const

/** How far the reading of an account's list has come. */
export interface ListReading {
  /** Where it goes on; null at the beginning. */
  readonly cursor: string | null
  /** Pages that may still be read without a due transfer. */
  readonly patience: number
}

/** The store of readings: which account's list is being read by pages, and where each stands. */
export type ListReadingStore = ReturnType<typeof createListReadingStore>

/** Makes the store of readings on a driver. */
export function createListReadingStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Leases the reading of an account's list, for `leaseMs` milliseconds; `undefined` when another worker has it. */
    async lease(accountId: string, leased: number, leaseMs: number): Promise<ListReading | undefined> {
      return readFirst(readReading, await driver.query(sql.lease_list_reading, [accountId, leased, leaseMs]))
    },
    /** Records how far it has come, and renews the lease; 0 releases it. */
    async keep(accountId: string, { cursor, patience }: ListReading, leaseMs: number): Promise<void> {
      await driver.query(sql.keep_reading, [accountId, cursor, patience, leaseMs])
    },
    /** Ends it: the next one begins with the newest transfer. */
    async end(accountId: string): Promise<void> {
      await driver.query(sql.end_reading, [accountId])
    },
  }
}

const readReading: (row: Row) => ListReading = rowDecoder('list reading', {
  cursor: Column.nullable(Column.text),
  patience: Column.integer,
})
