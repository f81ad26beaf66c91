import { createEngine, type Gateway, type SubmitResult } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../test/outbox.ts'
import { postgres } from './backend.ts'
import type { Driver } from './driver.ts'
import { pgDriver } from './drivers/pg.ts'

describe('a request that was about to leave as its worker lost its job', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const driver = pgDriver(pool)
  const engines: { stop(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop()))
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())

  function open(gateway: Gateway, on: Driver<pg.PoolClient> = driver) {
    const engine = createEngine({ backend: postgres({ driver: on, logger: recordingLogger() }), gateway })
    engines.push(engine)
    return engine
  }
  /** Heartbeats do not arrive, as from a process that stands still; all else does, but it fetches nothing more once it has a transfer. */
  const heartless = (hasOne: () => boolean): Driver<pg.PoolClient> => ({
    ...driver,
    query: (statement, values) =>
      statement.text.includes('touch_jobs') || (statement.text.includes('fetch_and_claim') && hasOne())
        ? Promise.resolve([])
        : driver.query(statement, values),
  })

  it('does not leave any more: another one has found out that nothing was paid, and the host has canceled', async () => {
    const inner = memoryGateway()
    let hesitates = 0
    let answered = 0
    let go = () => {}
    const gone = new Promise<void>((resolve) => (go = resolve))
    const slow = open(
      {
        ...inner,
        async submit(submission, options): Promise<SubmitResult> {
          hesitates += 1
          await gone
          answered += 1
          if (options.mayBegin?.() === false) return { outcome: 'throttled', detail: 'not sent' }
          return inner.submit(submission, options)
        },
      },
      heartless(() => hesitates > 0),
    )
    await slow.start()
    const { id } = await driver.transaction((tx) => slow.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(() => hesitates === 1)
    const poor = { outcome: 'insufficient_balance', detail: 'none', keyEvaluated: true } as const
    const quick = open({ ...inner, submit: async () => poor })
    await quick.start()
    await waitUntil(async () => (await quick.transfers.get(id))?.stage === 'awaiting_funds', { timeoutMs: 90_000 })
    await driver.transaction((tx) => quick.transfers.cancel(tx, id))
    go()
    await waitUntil(() => answered > 0)
    await Promise.all(engines.splice(0).map((engine) => engine.stop()))
    expect([hesitates, inner.submissions]).toEqual([1, []])
  })
})
