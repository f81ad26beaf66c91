import { createEngine, type Gateway, type SendOptions, type Submission, type SubmitResult } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import type { Driver } from '../database/driver.ts'
import { pgDriver } from '../drivers/pg.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

describe('a request that waits for its turn', async () => {
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
  const enqueue = (engine: ReturnType<typeof open>) =>
    driver.transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))

  /** A gateway whose requests wait until they may go, and then ask whether they may still begin. */
  function hesitant(inner: Gateway) {
    let go = () => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    const counts = { waiting: 0, asked: 0 }
    const submit = async (submission: Submission, options: SendOptions): Promise<SubmitResult> => {
      counts.waiting += 1
      await gone
      counts.asked += 1
      if (options.mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
      return inner.submit(submission, options)
    }
    return { gateway: { ...inner, submit }, counts, go: () => go() }
  }

  it.each<[string, { lostAfterMs: number; claimedAfterMs: number; answerMs: number }]>([
    ['and its worker has not noticed', { lostAfterMs: 16_000, claimedAfterMs: 0, answerMs: 0 }],
    ['and the heartbeats of both are alike', { lostAfterMs: 0, claimedAfterMs: 16_000, answerMs: 4_000 }],
  ])('does not leave once its job was deleted and another worker has the new one, %s', async (_, times) => {
    const inner = memoryGateway()
    const { gateway, counts, go } = hesitant(inner)
    const slow = open(gateway, {
      ...driver,
      // It does not claim the transfer again itself.
      query: (statement, values) =>
        statement.text.includes('fetch_and_claim') && counts.waiting > 0
          ? Promise.resolve([])
          : driver.query(statement, values),
    })
    await slow.start()
    const { id } = await enqueue(slow)
    await waitUntil(() => counts.waiting === 1)
    await pause(times.lostAfterMs)
    await pool.query('delete from outlay_queue.job where id = outlay.job_id($1)', [id])
    await pause(times.claimedAfterMs)
    const quick = open({
      ...inner,
      async submit(): Promise<SubmitResult> {
        await pause(times.answerMs)
        return { outcome: 'insufficient_balance', detail: 'none', keyEvaluated: true }
      },
    })
    await quick.start()
    await waitUntil(async () => (await quick.transfers.get(id))?.stage === 'awaiting_funds', { timeoutMs: 90_000 })
    await driver.transaction((tx) => quick.transfers.cancel(tx, id))
    go()
    await waitUntil(() => counts.asked > 0)
    await stopAll()
    expect([counts.waiting, inner.submissions]).toEqual([1, []])
  })

  it('does not leave once its own worker has the job again, since the clock of Postgres went forward', async () => {
    const inner = memoryGateway()
    let go = () => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    const counts = { first: 0, asked: 0 }
    const engine = open({
      ...inner,
      async submit(submission: Submission, options: SendOptions): Promise<SubmitResult> {
        if (submission.attempt > 1) return { outcome: 'insufficient_balance', detail: 'none', keyEvaluated: true }
        counts.first += 1
        await gone
        counts.asked += 1
        if (options.mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
        return inner.submit(submission, options)
      },
    })
    await engine.start()
    const { id } = await enqueue(engine)
    await waitUntil(() => counts.first === 1)
    // What the supervision does then, since the last heartbeat seems to be hours old.
    await pool.query(`update outlay_queue.job set state = 'retry', start_after = now() where id = outlay.job_id($1)`, [
      id,
    ])
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds', { timeoutMs: 60_000 })
    await driver.transaction((tx) => engine.transfers.cancel(tx, id))
    await pause(4_000)
    go()
    await waitUntil(() => counts.asked > 0)
    await stopAll()
    expect(inner.submissions).toEqual([])
  })

  it('does not leave once its key may be forgotten', async () => {
    const inner = memoryGateway()
    inner.script(() => ({ outcome: 'unknown', detail: 'no answer' }))
    const first = open({ ...inner, keyLifetimeMs: 40_000 })
    await first.start()
    const { id } = await enqueue(first)
    await waitUntil(async () => (await first.transfers.get(id))?.reason === 'outcome_unknown')
    await stopAll()
    const sent = inner.submissions.length
    await pool.query(`update outlay.transfer set unknown_since = now() - interval '33 seconds' where id = $1`, [id])
    await pool.query('update outlay_queue.job set start_after = now() where id = outlay.job_id($1)', [id])
    const { gateway, counts, go } = hesitant(inner)
    const second = open({ ...gateway, keyLifetimeMs: 40_000 })
    await second.start()
    await waitUntil(() => counts.waiting === 1)
    await pause(6_000)
    go()
    await waitUntil(async () => (await second.transfers.get(id))?.stage === 'blocked')
    expect((await second.transfers.get(id))?.reason).toBe('key_expired')
    expect(inner.submissions).toHaveLength(sent)
  })
})
