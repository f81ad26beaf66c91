import type { EnqueueRequest } from '@outlay/core'
import pg from 'pg'
import { postgres } from '../src/backend.ts'
import { pgDriver } from '../src/drivers/pg.ts'

/** A payout by ACH of an account, valid by every rule. */
export function samplePayout(accountId: string, overrides: Partial<EnqueueRequest> = {}): EnqueueRequest {
  return {
    accountId,
    amount: { value: '12.50', currency: 'USD' },
    source: { addressId: '01J0000000000000000000000A', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: '01J0000000000000000000000B', valueType: 'USD', transferType: 'ach_credit' },
    ...overrides,
  }
}

/** Brings an empty database to the schema of the engine. */
export async function migrateOutbox(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  await postgres({ driver: pgDriver(pool) }).migrate()
  await pool.end()
}

/** Empties the engine's tables between tests. */
export async function emptyOutbox(pool: pg.Pool): Promise<void> {
  await pool.query(
    'truncate outlay.transfer, outlay.event, outlay.attempt, outlay.delivery, outlay.subscription, outlay.refused_account, outlay.sighting, outlay.watched_account, outlay.found_transfer, outlay.list_reading, outlay_queue.job',
  )
}
