import { createEngine } from '@outlay/core'
import { memoryGateway, startPostgres } from '@outlay/testing'
import pg from 'pg'
import { afterAll, beforeEach, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from '../schema/database-names.ts'
import { front } from './next-deliveries.ts'
import { createSubscriptionStore, type DeliverOptions } from './subscriptions.ts'

// A server of its own without autovacuum: an index keeps what an old transaction could still see, in whichever database it is, and
// each step reads and counts that once more.
const server = await startPostgres({ provider: 'embedded', durable: false, settings: { autovacuum: 'off' } })
const url = await server.createDatabase()
await migrateOutbox(url)
const pool = new pg.Pool({ connectionString: url, max: 1 })
afterAll(async () => {
  await pool.end()
  await server.stop()
})
beforeEach(() => emptyOutbox(pool))

const store = createSubscriptionStore(pgDriver(pool), resolveNames({}).tokens)
const backlog = 60_000
const options: DeliverOptions = {
  limit: 1,
  holding: null,
  exceptAccounts: [],
  exceptTransfers: [],
  place: front,
  onLeased: () => true,
  onFailed: () => undefined,
  isCautious: false,
  signal: new AbortController().signal,
}
const handled: string[] = []
const subscription = {
  name: 'books',
  types: ['transfer.completed', 'transfer.failed'] as const,
  together: false,
  batchSize: 1,
  timeoutMs: 60_000,
  handler: async (events: readonly { readonly transferId: string }[]) => {
    handled.push(...events.map(({ transferId }) => transferId))
  },
}

/** Makes transfers with one event each. */
async function seed(count: number, firstType: string) {
  const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() })
  const payouts = Array.from({ length: count }, () => samplePayout('acme'))
  const transfers = await pgDriver(pool).transaction((tx) => engine.transfers.enqueueMany(tx, payouts))
  await pool.query(
    `insert into outlay.event (transfer_id, sequence, type, stage, status, attempt)
     select t.id, 1, $1, 'settled', 'complete', 1 from outlay.transfer t`,
    [firstType],
  )
  return transfers.map(({ id }) => id)
}

const deliver = (sequence: string, due: string, dead: string) =>
  pool.query(
    `insert into outlay.delivery (subscription, transfer_id, sequence, type, account_id, due_at, dead)
     select 'books', e.transfer_id, e.sequence, e.type, 'acme', clock_timestamp() - ${due}, ${dead} from outlay.event e where ${sequence}`,
  )

/** Rows of deliveries that `work` read, from the table and from its indexes. */
async function readBy(work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    const { rows } = await pool.query<{ readonly rows: number }>(
      `select (t.seq_tup_read + sum(i.idx_tup_read))::integer as rows from pg_stat_user_tables t
       join pg_stat_user_indexes i on i.relid = t.relid where t.schemaname = 'outlay' and t.relname = 'delivery' group by t.relid, t.seq_tup_read`,
    )
    return rows[0]?.rows ?? 0
  }
  const before = await read()
  await work()
  return (await read()) - before
}

/** Fetches and defers until an event is handled; returns the most rows that one step read. */
async function readUntilHandled(): Promise<number> {
  let most = 0
  handled.length = 0
  for (let step = 0; step < 200 && handled.length === 0; step += 1) {
    most = Math.max(most, await readBy(() => store.deliver(subscription, options)))
    if (handled.length > 0) break
    most = Math.max(most, await readBy(() => store.deferBehind(subscription, options)))
  }
  return most
}

it('of the next events is bounded behind a dead letter with many later events', async () => {
  const [held, free] = await seed(2, 'transfer.completed')
  await pool.query(
    `insert into outlay.event (transfer_id, sequence, type, stage, status, attempt)
     select $1, s, 'transfer.failed', 'settled', 'failed', 1 from generate_series(2, $2) s`,
    [held, backlog],
  )
  await deliver(`e.transfer_id = '${held}'`, `interval '1 hour'`, 'e.sequence = 1')
  await deliver(`e.transfer_id = '${free}'`, `interval '1 second'`, 'false')
  await pool.query('analyze outlay.delivery')
  expect(await readUntilHandled()).toBeLessThan(20_000)
  expect(handled).toEqual([free])
  // Deferred deliveries are not read again.
  while ((await store.deferBehind(subscription, options)).count > 0);
  expect(await readBy(() => store.deliver(subscription, options))).toBeLessThan(100)
})

it('of the next events is bounded behind many transfers that dead letters defer', async () => {
  const ids = await seed(backlog / 10, 'transfer.completed')
  const free = ids.at(-1)
  await pool.query(
    `insert into outlay.event (transfer_id, sequence, type, stage, status, attempt)
     select t.id, s, 'transfer.failed', 'settled', 'failed', 1 from outlay.transfer t cross join generate_series(2, 11) s where t.id <> $1`,
    [free],
  )
  await deliver(`e.transfer_id <> '${free}'`, `interval '1 hour'`, 'e.sequence = 1')
  await deliver(`e.transfer_id = '${free}'`, `interval '1 second'`, 'false')
  await pool.query('analyze outlay.delivery')
  expect(await readUntilHandled()).toBeLessThan(20_000)
  expect(handled).toEqual([free])
  while ((await store.deferBehind(subscription, options)).count > 0);
  expect(await readBy(() => store.deliver(subscription, options))).toBeLessThan(100)
})

it('of the next events leaves out those of types that are for other processes', async () => {
  await seed(backlog / 4, 'transfer.processing')
  await deliver('true', `interval '1 hour'`, 'false')
  await pool.query('analyze outlay.delivery')
  expect(await readBy(() => store.deliver(subscription, options))).toBeLessThan(10)
  expect(await readBy(() => store.deferBehind(subscription, options))).toBeLessThan(10)
})

it('of the next events leaves out accounts whose events are all deferred', async () => {
  await pool.query(
    `insert into outlay.delivery (subscription, transfer_id, sequence, type, account_id, ready, due_at)
     select 'books', 'transfer-' || n, 1, 'transfer.completed', 'account-' || n, false, clock_timestamp() + interval '1 hour'
     from generate_series(1, 30000) n`,
  )
  for (const read of [
    () => store.deliver(subscription, options),
    () => store.readEnd(subscription, options),
    () => store.deferBehind(subscription, options),
    () => store.makeDueReady('books'),
  ])
    expect(await readBy(read)).toBeLessThan(10)
})

it.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
  ['when Postgres knows how many there are', async () => undefined, () => pool.query('analyze outlay.delivery')],
  ['when Postgres believes that there are none', () => pool.query('analyze outlay.delivery'), async () => undefined],
])('of one event among many reads only that one, %s', async (_, before, after) => {
  await before()
  await seed(backlog / 4, 'transfer.completed')
  await deliver('true', `interval '1 hour'`, 'false')
  await after()
  handled.length = 0
  // From the sixth time on, Postgres may keep the plan.
  for (let count = 1; count <= 8; count += 1) {
    expect(await readBy(() => store.deliver(subscription, options))).toBeLessThan(40)
    expect(handled).toHaveLength(count)
  }
})
