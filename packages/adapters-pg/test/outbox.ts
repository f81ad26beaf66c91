import type { EnqueueRequest } from '@outlay/core'
import pg from 'pg'
import { postgres } from '../src/backend.ts'
import { pgDriver } from '../src/drivers/pg.ts'
import { jobTable } from './queue.ts'

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

/** Empties the engine's tables between tests, and those of the host that refer to them. */
export async function emptyOutbox(pool: pg.Pool): Promise<void> {
  await pool.query(
    // Without triggers: some tables refuse to be emptied.
    `do $$ begin perform set_config('session_replication_role', 'replica', true); execute (
       select 'truncate ${jobTable}, ' || string_agg(format('outlay.%I', tablename), ', ') from pg_tables
       where schemaname = 'outlay' and tablename not in ('migration', 'limit_salt')
     ) || ' cascade'; end $$`,
  )
}

/** Makes every subscription one that no process has attended yet. */
export async function forgetAttendance(pool: pg.Pool): Promise<void> {
  await pool.query(`update outlay.subscription set attended_at = null, attended = '{}'`)
}
