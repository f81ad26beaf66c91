import { type EnqueueRequest, Id } from '@outlay/core'
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

/** Empties the engine's tables between tests, and those of the host that refer to them. */
export async function emptyOutbox(pool: pg.Pool): Promise<void> {
  await pool.query(
    `do $$ begin execute (
       select 'truncate outlay_queue.job, ' || string_agg(format('outlay.%I', tablename), ', ') from pg_tables
       where schemaname = 'outlay' and tablename not in ('migration', 'dispatch_clock')
     ) || ' cascade'; end $$`,
  )
}

/** Makes every subscription one that no process has attended yet. */
export async function forgetAttendance(pool: pg.Pool): Promise<void> {
  await pool.query(`update outlay.subscription set attended_at = null, attended = '{}'`)
}

/** The jobs of these transfers, as a worker has them that has just fetched them and not claimed the transfers. */
export async function fetchedJobs(pool: pg.Pool, ...ids: readonly string[]) {
  const { rows } = await pool.query(
    `update outlay_queue.job set state = 'active', started_on = now(), heartbeat_on = now() where id = any ($1::uuid[])
     returning id, retry_count`,
    [ids.map(Id.toUuid)],
  )
  return rows.map((row) => ({ id: row.id as string, retryCount: row.retry_count as number, claim: undefined }))
}
