import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url, max: 40 })
afterAll(() => pool.end())
afterEach(() => emptyOutbox(pool))

it('a worker that stands still while it writes the throttle of an account holds up no other account', async () => {
  const commit = pgDriver(pool).transaction
  const memory = memoryGateway()
  memory.script(({ accountId, attempt }) =>
    accountId !== 'limited' && attempt === 1
      ? { outcome: 'throttled', detail: 'HTTP 429', httpStatus: 429, retryAfterMs: 100 }
      : undefined,
  )
  await using engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memory })
  const enqueue = (accountId: string, count: number) =>
    commit((tx) =>
      engine.transfers.enqueueMany(
        tx,
        Array.from({ length: count }, () => samplePayout(accountId)),
      ),
    )
  const sentOf = (accountId: string) =>
    [...memory.transfers.values()].filter(({ submission }) => submission.accountId === accountId).length
  await commit((tx) => engine.accounts.configure(tx, 'limited', { concurrency: 2 }))
  await pool.query(
    `insert into outlay.account_throttle (account_id, rate, throttled_until, changed_at) values ('a-held', 1, now(), now())`,
  )
  const still = await pool.connect()
  try {
    await still.query('begin')
    await still.query(`update outlay.account_throttle set rate = 0.5 where account_id = 'a-held'`)
    await enqueue('a-held', 20)
    await enqueue('limited', 6)
    await enqueue('refused', 3)
    await engine.start({ concurrency: 8 })
    await waitUntil(() => sentOf('limited') === 6 && sentOf('refused') === 3, { timeoutMs: 30_000 })
    expect(sentOf('a-held')).toBe(0)
    await still.query('rollback')
  } finally {
    still.release(true)
  }
  await waitUntil(() => sentOf('a-held') > 0)
})
