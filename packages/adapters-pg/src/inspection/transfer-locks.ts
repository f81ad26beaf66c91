import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'
import { resolveNames } from '../schema/database-names.ts'

const texts = {
  lock_transfers:
    'select t.id from {{schema}}.transfer t where t.id = any ($1::text[]) order by t.id for no key update',
} as const

/** Where the transfers are. */
export interface TransferLocksOptions<Tx> {
  readonly driver: Driver<Tx>
  /** Schema of the engine's tables. Default `outlay`. */
  readonly schema?: string | undefined
}

/**
 * Makes the lock of transfers until the end of a transaction, in the order of their ids: what a later statement reads of them stays so, and so does what holds
 * them.
 */
export function transferLocks<Tx>({
  driver,
  schema,
}: TransferLocksOptions<Tx>): (tx: Tx, transferIds: readonly string[]) => Promise<void> {
  const sql = statements(resolveNames({ schema }).tokens, texts)
  return async (tx, transferIds) => void (await driver.execute(tx, sql.lock_transfers, [transferIds]))
}
