import { createEngine, type FindTransfers, Id } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
// One session, so that the plans are those that were made while the tables were empty.
const pool = new pg.Pool({ connectionString: database.url, max: 1 })
const driver = pgDriver(pool)
const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
afterAll(() => pool.end())

const total = 150_000

/** Each is older than the last one, of a hundred accounts and one that has a third, and all but a few have ended. */
beforeAll(async () => {
  for (let round = 0; round < 8; round += 1) await engine.transfers.find({ accountId: 'big', metadata: { kind: 'x' } })
  const { id } = await driver.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('big')))
  await pool.query(
    `insert into outlay.transfer (id, account_id, idempotency_key, fingerprint, request, stage, status, created_at)
     select $2 || lpad(n::text, 16, '0'), case when n % 3 = 0 then 'big' else 'account-' || n % 100 end, n::text, '', t.request,
       case when n % 1000 = 0 then 'queued' else 'settled' end, case when n % 1000 = 0 then 'pending' else 'complete' end,
       '2024-06-01'::timestamptz + n * interval '1 second'
     from generate_series(1, ${total}) n, outlay.transfer t where t.id = $1`,
    [id, Id.lowest(new Date('2024-06-01T20:00:00Z')).slice(0, 10)],
  )
  await pool.query(`update outlay.transfer set batch_id = '01J0000000000000000000000Z' where account_id = 'account-7'`)
  await pool.query(
    `insert into outlay.transfer_metadata
     select t.id, x.name, case x.name when 'order' then t.idempotency_key else 'salary' end
     from outlay.transfer t, (values ('order'), ('kind')) as x (name)`,
  )
}, 120_000)

const readSoFar = async () => {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ readonly whole: number; readonly indexed: number }>(
    `select (select sum(seq_tup_read)::integer from pg_stat_user_tables where relname in ('transfer', 'transfer_metadata')) as whole,
       (select sum(idx_tup_read)::integer from pg_stat_user_indexes where relname in ('transfer', 'transfer_metadata')) as indexed`,
  )
  return rows[0] ?? { whole: 0, indexed: 0 }
}

/** Rows of whole tables, and of indexes, that one call reads, and what it finds. */
async function measure(query: FindTransfers) {
  const before = await readSoFar()
  const { transfers, nextCursor } = await engine.transfers.find(query)
  const after = await readSoFar()
  const found = transfers.length
  return { found, nextCursor, whole: after.whole - before.whole, indexed: after.indexed - before.indexed }
}

it.each<[string, FindTransfers, number, number]>([
  ['nothing', {}, 50, 1_000],
  ['a small account', { accountId: 'account-7' }, 50, 8_000],
  ['a small account and what it has not', { accountId: 'account-7', status: 'canceled' }, 0, 8_000],
  ['a great account', { accountId: 'big' }, 50, 7_000],
  ['a rare pair', { metadata: { order: '77' } }, 1, 100],
  ['a rare pair among frequent ones', { metadata: { kind: 'salary', order: '77' } }, 1, 6_000],
  ['a frequent pair', { metadata: { kind: 'salary' } }, 50, 7_000],
  ['a frequent pair of a small account', { metadata: { kind: 'salary' }, accountId: 'account-7' }, 50, 20_000],
  [
    'a frequent pair before times of any',
    { metadata: { kind: 'salary' }, createdBefore: '2024-05-02T00:00:00Z' },
    0,
    5_100,
  ],
  [
    'a frequent pair between times of any',
    { metadata: { kind: 'salary' }, createdAfter: '2024-07-01T00:00:00Z', createdBefore: '2024-08-01T00:00:00Z' },
    0,
    5_100,
  ],
  ['a frequent pair since a time', { metadata: { kind: 'salary' }, createdAfter: '2024-06-01T20:30:00Z' }, 50, 12_000],
  ['a batch', { batchId: '01J0000000000000000000000Z' }, 50, 1_000],
  ['a stage of few', { stage: 'queued' }, 50, 1_000],
  ['times without any', { createdAfter: '2024-05-01T00:00:00Z', createdBefore: '2024-05-02T00:00:00Z' }, 0, 100],
])('by %s, a call reads what an index gives, and no whole table', async (_, query, found, most) => {
  const { whole, indexed, ...others } = await measure(query)
  expect(others.found).toBe(found)
  expect(whole).toBe(0)
  expect(indexed).toBeLessThan(most)
})

it.each<[string, FindTransfers]>([
  ['what no transfer has', { currency: 'EUR' }],
  ['a great account and what it has not', { accountId: 'big', reason: 'key_expired' }],
  ['a frequent pair and what it has not', { metadata: { kind: 'salary' }, status: 'canceled' }],
])('by %s, a call ends before it has read everything, and says where to go on', async (_, query) => {
  const { found, nextCursor, whole, indexed } = await measure(query)
  expect([found, nextCursor]).toEqual([0, expect.any(String)])
  expect(whole).toBe(0)
  expect(indexed).toBeLessThan(110_000)
})
