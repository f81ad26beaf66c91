import { randomUUID } from 'node:crypto'
import { createEngine, Id } from '@outlay/core'
import type { Claim, Settlement } from '@outlay/core/adapter'
import { memoryGateway, startPostgres } from '@outlay/testing'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../test/outbox.ts'
import { countJobs, holdsJobs, jobTable, queueSchema } from '../test/queue.ts'
import { postgres } from './backend.ts'
import { createAttemptStore } from './dispatch/attempts.ts'
import { pgDriver } from './drivers/pg.ts'
import { resolveNames } from './schema/database-names.ts'
import { createNextStatements, front } from './subscriptions/next-deliveries.ts'

// A server of its own without autovacuum: an index keeps what an old transaction could still see, in whichever database it is, and
// each read counts that once more.
const server = await startPostgres({ provider: 'embedded', durable: false, settings: { autovacuum: 'off' } })
const url = await server.createDatabase()
await migrateOutbox(url)
// One session, so that the plans of the first round are those of the last.
const pool = new pg.Pool({ connectionString: url, max: 1 })
afterAll(async () => {
  await pool.end()
  await server.stop()
})

const accepted = ({ transferId, gateway, attempt, claimedBy, claimedAt }: Claim): Settlement => ({
  ...{ transferId, gateway, attempt, claimedBy, claimedAt },
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

const driver = pgDriver(pool)
const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
const attempts = createAttemptStore(driver, resolveNames({}).tokens)

/** Fetches, claims and settles as a worker does that has to claim them separately. Returns the ids of those that are settled. */
async function work(size: number): Promise<readonly string[]> {
  const fetched = (await attempts.fetch(size, 'worker')).filter(({ claim }) => claim !== undefined)
  const claims = await attempts.claim(fetched, 'worker')
  await attempts.touch(claims.map(({ transferId }) => ({ id: Id.toUuid(transferId), retryCount: 0, claim: undefined })))
  const results = await attempts.settle(claims.map(accepted))
  return [...results].flatMap(([key, result]) => (result === 'settled' ? key.slice(0, 26) : []))
}

const enqueue = (count: number) =>
  driver.transaction((tx) =>
    engine.transfers.enqueueMany(
      tx,
      Array.from({ length: count }, (_, index) => samplePayout(`account-${index % 5}`)),
    ),
  )

const count = async (text: string): Promise<number> => {
  await pool.query('select pg_stat_force_next_flush()')
  const { rows } = await pool.query<{ readonly rows: number }>(text)
  return rows[0]?.rows ?? 0
}

/** Rows that were read from the whole queue and other whole tables, from the index of the attempts, and from the indexes of the queue. */
const readSoFar = async () => ({
  jobs: await count(`select sum(seq_tup_read)::integer as rows from pg_stat_user_tables
    where ${holdsJobs}`),
  whole: await count(`select sum(seq_tup_read)::integer as rows from pg_stat_user_tables
    where schemaname = 'outlay' and relname in ('transfer', 'attempt', 'event') or schemaname = '${queueSchema}'`),
  attempts: await count(`select sum(idx_tup_read)::integer as rows from pg_stat_user_indexes
    where schemaname = 'outlay' and relname = 'attempt'`),
  transfers: await count(`select sum(idx_tup_read)::integer as rows from pg_stat_user_indexes
    where schemaname = 'outlay' and relname = 'transfer'`),
  queue: await count(`select sum(idx_tup_read)::integer as rows from pg_stat_user_indexes
    where ${holdsJobs}`),
})

it.each<[string, () => Promise<void>]>([
  ['when the tables were empty', async () => undefined],
  [
    'when the tables were empty and Postgres had noted that',
    async () => {
      await pool.query(`truncate ${jobTable}, outlay.outbox, outlay.transfer, outlay.event, outlay.attempt cascade`)
      await pool.query('vacuum analyze')
    },
  ],
  [
    'when the queue was empty and Postgres had noted that',
    async () => {
      await enqueue(500)
      for (let round = 0; round < 25; round += 1) await work(20)
      await pool.query('analyze')
    },
  ],
])('of fetches, claims and settlements read rows by index, though they were made %s', async (_, prepare) => {
  await prepare()
  for (let round = 0; round < 8; round += 1) expect(await work(10)).toEqual([])
  await enqueue(500)
  const before = await readSoFar()
  const settled = new Set<string>()
  for (let round = 0; round < 25; round += 1) for (const id of await work(20)) settled.add(id)
  expect(settled.size).toBe(500)
  const after = await readSoFar()
  expect(after.whole).toBe(before.whole)
  // Reading a whole index is no better: there are a thousand attempts in the end, and each round leaves fewer jobs.
  expect(after.attempts - before.attempts).toBeLessThan(4_000)
  // A settled transfer is read some ten times: by its id, and by the id that the service gave it.
  expect(after.transfers - before.transfers).toBeLessThan(8_000)
  expect(after.queue - before.queue).toBeLessThan(8_000)
})

it('of the queue are kept for hosts and workers, and read jobs by their ids, though hosts made them when it was empty', async () => {
  await pool.query(`truncate ${jobTable}; analyze`)
  const absent = Array.from({ length: 8 }, () => randomUUID())
  for (const job of absent) {
    await pool.query('select outlay.queue_remove(array[$1::uuid])', [job])
    await pool.query('select outlay.queue_wake(array[$1::uuid], null, null)', [job])
    await pool.query('select outlay.queue_wake_unlocked(array[$1::uuid], null)', [job])
  }
  const transfers = await enqueue(500)
  const before = await readSoFar()
  for (const { id } of transfers.slice(0, 100)) {
    await pool.query('select outlay.queue_wake(array[$1::uuid], null, null)', [Id.toUuid(id)])
    await pool.query('select outlay.queue_wake_unlocked(array[$1::uuid], null)', [Id.toUuid(id)])
    await driver.transaction((tx) => engine.transfers.cancel(tx, id))
  }
  const after = await readSoFar()
  expect(await countJobs(pool)).toBe(400)
  expect(after.jobs).toBe(before.jobs)
  expect(after.queue - before.queue).toBeLessThan(2_000)
})

it('of statements that read the queue have its text in them, so that they read by index what they name', async () => {
  const { rows } = await pool.query(`explain select 1 from outlay.transfer t
    where t.id = 'a' and exists (select from outlay.queue_jobs() q where q.job = outlay.job_id(t.id) and q.is_waiting)`)
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).toContain(queueSchema)
  expect(plan).not.toContain('queue_jobs')
})

it('of the next events of a subscription read by index what they name, though they were made when the tables were empty', async () => {
  await pool.query(
    `truncate ${jobTable}, outlay.outbox, outlay.transfer, outlay.event, outlay.attempt, outlay.delivery cascade`,
  )
  await pool.query(`insert into outlay.subscription (name, types) values ('s', '{transfer.submitted}')`)
  const next = createNextStatements(resolveNames({}).tokens, 1_000).deliveries_next
  const values = ['s', [], ...front, ['transfer.submitted'], null, [], 20, '60000']
  const handle = () =>
    driver.transaction(async (tx) => {
      const rows = await driver.execute(tx, next, values)
      const ids = rows.map((row) => row['transfer_id'])
      await tx.query(`delete from outlay.delivery where subscription = 's' and transfer_id = any ($1)`, [ids])
      return ids.length
    })
  for (let round = 0; round < 8; round += 1) expect(await handle()).toBe(0)
  await enqueue(500)
  for (let round = 0; round < 25; round += 1) await work(20)
  const before = await readSoFar()
  let handled = 0
  for (let round = 0; round < 25; round += 1) handled += await handle()
  expect(handled).toBe(500)
  expect((await readSoFar()).whole).toBe(before.whole)

  const plans: string[] = []
  const client = await pool.connect()
  client.on('notice', ({ message }) => void plans.push(message ?? ''))
  await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
    set auto_explain.log_level = notice`)
  await client.query({ ...next, values })
  client.release(true)
  // Any other index has all that are ready, and would be read to its end for each event.
  expect(plans.join('\n')).toContain('using delivery_pkey on delivery d')
})
