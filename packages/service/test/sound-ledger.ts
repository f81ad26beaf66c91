import { expect } from 'vitest'
import type { ServiceContext } from '../src/context.ts'
import { inspect } from './inspection.ts'

/** Expects that every step of every posting sums to zero, and that every wallet has what its entries say. */
export async function expectSoundLedger({ pool, schema }: Pick<ServiceContext, 'pool' | 'schema'>): Promise<void> {
  const unbalanced = await inspect(pool).query(
    `select posting_id from ${schema}.ledger_entry group by posting_id, step, value_type having sum(amount) <> 0`,
  )
  const drifted = await inspect(pool).query(
    `select id from ${schema}.ledger_balance
      where kind = 'custodial' and (available <> entries_available or held <> entries_held)`,
  )
  expect([unbalanced.rows, drifted.rows]).toEqual([[], []])
}
