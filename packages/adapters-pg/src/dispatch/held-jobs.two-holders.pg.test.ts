import { createEngine, type Gateway, type Observation, type SubmitResult } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import type { Driver } from '../database/driver.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('a request of a worker whose job another one has got', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const driver = pgDriver(pool)
  const engines: { stop(): Promise<void> }[] = []
  const stopAll = () => Promise.all(engines.splice(0).map((engine) => engine.stop()))
  afterEach(async () => {
    await stopAll()
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())

  function open(gateway: Gateway, on: Driver<pg.PoolClient> = driver) {
    const engine = createEngine({ backend: postgres({ driver: on, logger: recordingLogger() }), gateway })
    engines.push(engine)
    return engine
  }
  const commit = <T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> => driver.transaction(work)
  const poor = { outcome: 'insufficient_balance', detail: 'none', keyEvaluated: true } as const

  it.each([1, 2])('does not leave after a cancel, when persons have released its transfer %i times', async (times) => {
    const inner = memoryGateway()
    const counts = { waiting: 0, asked: 0 }
    let go = () => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    const slow = open(
      {
        ...inner,
        async submit(submission, options): Promise<SubmitResult> {
          counts.waiting += 1
          await gone
          counts.asked += 1
          if (options.mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
          return inner.submit(submission, options)
        },
      },
      {
        ...driver,
        query: (statement, values) =>
          statement.text.includes('fetch_and_claim') && counts.waiting > 0
            ? Promise.resolve([])
            : driver.query(statement, values),
      },
    )
    await slow.start()
    const { id } = await commit((tx) => slow.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(() => counts.waiting === 1)
    const at = new Date().toISOString()
    const alike = { remoteId: 'alike', status: 'processing', failure: null } as const
    const { amount, source, destination, note = null } = samplePayout('acme')
    const transfer = { ...alike, id: 'alike', amount, source, destination, note, createdAt: at, updatedAt: at }
    const quick = open({
      ...inner,
      list: async () => ({ observations: [{ ...alike, transfer }] as Observation[] }),
      submit: async () => poor,
    })
    await pool.query('update outlay.transfer set expires_at = now()')
    await commit((tx) => quick.fence(tx))
    await quick.reconcile({ since: new Date(Date.now() - 60_000), acknowledge: true })
    expect(await quick.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    await pool.query('update outlay.transfer set expires_at = null')
    for (let time = 0; time < times; time += 1) await commit((tx) => quick.transfers.release(tx, id))
    await quick.start()
    await waitUntil(async () => (await quick.transfers.get(id))?.stage === 'awaiting_funds', { timeoutMs: 90_000 })
    await commit((tx) => quick.transfers.cancel(tx, id))
    go()
    await waitUntil(() => counts.asked > 0)
    await stopAll()
    expect([counts.waiting, inner.submissions]).toEqual([1, []])
  })

  it('is not made, when the job went back to the queue between its fetch and its claim', async () => {
    const inner = memoryGateway()
    const counts = { waiting: 0, asked: 0 }
    let claims = 0
    let go = () => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    // Its only attempt is that of a worker whose answer comes when its job was lost.
    const first = open(inner)
    const { id } = await commit((tx) => first.transfers.enqueue(tx, samplePayout('acme')))
    await commit((tx) => first.accounts.configure(tx, 'acme', { concurrency: 5 }))
    const job = (await pool.query('select outlay.job_id($1) as job', [id])).rows[0].job
    await pool.query(`select * from outlay.fetch_and_claim(10, 'first', '')`)
    await pool.query(`select * from outlay.claim(array[$1], array[$2::uuid], 'first', '')`, [id, job])
    await pool.query(`update outlay_queue.job set state = 'retry', start_after = now()`)
    const answer = {
      id,
      job,
      attempt: 1,
      status: 'pending',
      events: [],
      stage: 'awaiting_funds',
      reason: 'insufficient_balance',
      outcome: 'insufficient_balance',
      retry_ms: 0,
    }
    const slow = open(
      {
        ...inner,
        async submit(submission, options): Promise<SubmitResult> {
          counts.waiting += 1
          await gone
          counts.asked += 1
          if (options.mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
          return inner.submit(submission, options)
        },
      },
      {
        ...driver,
        query: async (statement, values) => {
          if (statement.text.includes('fetch_and_claim')) return claims > 0 ? [] : driver.query(statement, values)
          if (!/\.claim(_fetched)?\(/.test(statement.text)) return driver.query(statement, values)
          await pool.query('select * from outlay.settle($1, 2)', [JSON.stringify([answer])])
          const rows = await driver.query(statement, values)
          claims += 1
          return rows
        },
      },
    )
    await slow.start()
    await waitUntil(() => claims > 0)
    const quick = open({ ...inner, submit: async () => poor })
    await quick.start()
    await waitUntil(async () => {
      const { rows } = await pool.query('select attempt, stage from outlay.transfer')
      return rows[0].attempt > 1 && rows[0].stage === 'awaiting_funds'
    })
    await commit((tx) => quick.transfers.cancel(tx, id))
    go()
    await waitUntil(() => counts.asked === counts.waiting)
    await stopAll()
    expect(inner.submissions).toEqual([])
  })
})
