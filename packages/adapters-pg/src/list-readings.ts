import type { Driver } from './driver.ts'
import { statements } from './statement.ts'

const texts = {
  take_reading: 'select * from {{schema}}.take_reading($1, $2, $3)',
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
  /** Pages that may still be read without meeting a transfer that is due. */
  readonly patience: number
}

/** The store of readings: which account's list is being read by pages, and where each stands. */
export type ListReadingStore = ReturnType<typeof createListReadingStore>

/** Makes the store of readings on a driver. */
export function createListReadingStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Takes the reading of an account's list, for `leaseMs` milliseconds; `undefined` when another worker has it. */
    async take(accountId: string, taken: number, leaseMs: number): Promise<ListReading | undefined> {
      const [row] = await driver.query(sql.take_reading, [accountId, taken, leaseMs])
      if (row === undefined) return undefined
      return { cursor: (row['cursor'] ?? null) as string | null, patience: row['patience'] as number }
    },
    /** Says how far it has come, and keeps it for as long again; 0 lets go of it. */
    async keep(accountId: string, { cursor, patience }: ListReading, leaseMs: number): Promise<void> {
      await driver.query(sql.keep_reading, [accountId, cursor, patience, leaseMs])
    },
    /** Ends it: the next one begins with the newest transfer. */
    async end(accountId: string): Promise<void> {
      await driver.query(sql.end_reading, [accountId])
    },
  }
}
