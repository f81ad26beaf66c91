import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { removeJobs } from '../../test/queue.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

// An enqueue that wrote nothing, since its key was in use, moved the next place of its account forward all the same, so one new payout of an
// account that repeats its keys waited behind the whole backlog of another account.
describe('an account whose enqueues wrote nothing', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const commit = <T>(work: (tx: pg.PoolClient) => Promise<T>) => pgDriver(pool).transaction(work)
  afterEach(() => emptyOutbox(pool))
  afterAll(() => pool.end())

  const payouts = (accountId: string, count: number) => Array.from({ length: count }, () => samplePayout(accountId))

  async function othersBefore(prepare: (engine: ReturnType<typeof host>['engine']) => Promise<void>) {
    const { engine, gateway } = host()
    await prepare(engine)
    await commit((tx) => engine.transfers.enqueueMany(tx, payouts('big', 3_000)))
    await commit((tx) => engine.transfers.enqueue(tx, samplePayout('well')))
    await engine.start({ concurrency: 10 })
    const order = () => gateway.submissions.map(({ accountId }) => accountId)
    await waitUntil(() => order().includes('well'), { timeoutMs: 60_000 })
    await engine.stop()
    return order().indexOf('well')
  }
  function host() {
    const gateway = memoryGateway()
    return { gateway, engine: createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway }) }
  }

  it('is served beside the flood of another when it did nothing before', async () => {
    expect(await othersBefore(async () => undefined)).toBeLessThan(200)
  })

  it('is served beside the flood of another after it repeated its keys', async () => {
    const before = await othersBefore(async (engine) => {
      const known = Array.from({ length: 500 }, (_, at) => samplePayout('well', { idempotencyKey: `INV-${at}` }))
      await commit((tx) => engine.transfers.enqueueMany(tx, known))
      // They were paid long ago; a job of the host repeats all of them every minute, as the guide allows.
      await removeJobs(pool)
      await pool.query(
        `update outlay.transfer set stage = 'settled', status = 'complete', remote_id = id, next_poll_at = null`,
      )
      for (let time = 0; time < 10; time += 1) {
        const again = await commit((tx) => engine.transfers.enqueueMany(tx, known))
        expect(again.every(({ reused }) => reused)).toBe(true)
      }
    })
    expect(before).toBeLessThan(200)
  })

  it('is served beside the flood of another after it repeated its keys one by one, and others for another request', async () => {
    const before = await othersBefore(async (engine) => {
      const known = samplePayout('well', { idempotencyKey: 'INV-1' })
      await commit((tx) => engine.transfers.enqueue(tx, known))
      const changed = { ...known, amount: { value: '1.00', currency: 'USD' } }
      for (let time = 0; time < 500; time += 1) {
        await commit(async (tx) => {
          expect((await engine.transfers.enqueue(tx, known)).reused).toBe(true)
          const many = engine.transfers.enqueueMany(tx, [changed, samplePayout('well')])
          await expect(many).rejects.toMatchObject({ code: 'idempotency_key_mismatch' })
        })
      }
    })
    expect(before).toBeLessThan(200)
  })
})
