import { createEngine } from '@outlay/core'
import type { Settlement } from '@outlay/core/adapter'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../test/outbox.ts'
import { createAttemptStore } from './attempts.ts'
import { postgres } from './backend.ts'
import { locate } from './database-names.ts'
import { pgDriver } from './drivers/pg.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
// One session, so that the plans of the first round are those of the last.
const pool = new pg.Pool({ connectionString: database.url, max: 1 })
afterAll(() => pool.end())

const accepted = (transferId: string, attempt: number): Settlement => ({
  transferId,
  attempt,
  stage: 'submitted',
  status: 'processing',
  failure: null,
  remoteId: `remote-${transferId}`,
  reason: null,
  unknownSince: null,
  credentials: 'good',
  credentialRefusals: 0,
  reachedAt: null,
  throttledForMs: null,
  retryAfterMs: null,
  pollAfterMs: 60_000,
  events: [{ type: 'transfer.submitted' }],
  answer: { outcome: 'accepted', detail: null, httpStatus: 201, requestId: null },
})

it('of fetches, claims and settlements read rows by index, though they were made when the tables were empty', async () => {
  const driver = pgDriver(pool)
  const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
  const attempts = createAttemptStore(driver, locate({}).tokens)
  const work = async (size: number) => {
    const fetched = (await attempts.fetch(size, 'worker')).flatMap(({ claim }) => claim ?? [])
    // As a worker does that has to claim them separately.
    const claims = await attempts.claim(
      fetched.map(({ transferId }) => transferId),
      'worker',
    )
    const results = await attempts.settle(claims.map(({ transferId, attempt }) => accepted(transferId, attempt)))
    return [...results].flatMap(([key, result]) => (result === 'settled' ? key.slice(0, 26) : []))
  }
  const readWhole = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ readonly rows: number }>(
      `select sum(seq_tup_read)::integer as rows from pg_stat_user_tables
       where schemaname = 'outlay' and relname in ('transfer', 'attempt', 'event') or schemaname = 'outlay_queue'`,
    )
    return rows[0]?.rows
  }
  const readAttempts = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ readonly rows: number }>(
      `select sum(idx_tup_read)::integer as rows from pg_stat_user_indexes where schemaname = 'outlay' and relname = 'attempt'`,
    )
    return rows[0]?.rows ?? 0
  }
  for (let round = 0; round < 8; round += 1) expect(await work(10)).toEqual([])
  const payouts = Array.from({ length: 500 }, (_, index) => samplePayout(`account-${index % 5}`))
  await driver.transaction((tx) => engine.transfers.enqueueMany(tx, payouts))
  const before = await readWhole()
  const attemptsBefore = await readAttempts()
  const settled = new Set<string>()
  for (let round = 0; round < 25; round += 1) for (const id of await work(20)) settled.add(id)
  expect(settled.size).toBe(500)
  expect(await readWhole()).toBe(before)
  // Reading a whole index is no better: there are a thousand attempts in the end.
  expect((await readAttempts()) - attemptsBefore).toBeLessThan(2_000)
})
