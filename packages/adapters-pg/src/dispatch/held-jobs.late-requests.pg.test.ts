import { createEngine, type Gateway, type Observation, type SubmitResult } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import type { Driver } from '../database/driver.ts'
import { pgDriver } from '../drivers/pg.ts'

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
  /** A driver that fetches nothing more once `hasOne`, and on which these functions answer nothing. */
  const without = (functions: readonly string[], hasOne: () => boolean): Driver<pg.PoolClient> => ({
    ...driver,
    query: (statement, values) =>
      functions.some((name) => statement.text.includes(name)) ||
      (statement.text.includes('fetch_and_claim') && hasOne())
        ? Promise.resolve([])
        : driver.query(statement, values),
  })
  /** An engine that has one transfer and asks for its permission to send it when the test lets it. */
  async function hesitate(functions: readonly string[]) {
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
      without(functions, () => hesitates > 0),
    )
    await slow.start()
    const { id } = await commit((tx) => slow.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(() => hesitates === 1)
    const poor = { outcome: 'insufficient_balance', detail: 'none', keyEvaluated: true } as const
    const at = new Date().toISOString()
    const alike = { remoteId: 'alike', status: 'processing', failure: null } as const
    const { amount, source, destination, note = null } = samplePayout('acme')
    const transfer = { ...alike, id: 'alike', amount, source, destination, note, createdAt: at, updatedAt: at }
    const list = async () => ({ observations: [{ ...alike, transfer }] as Observation[] })
    const quick = open({ ...inner, list, submit: async () => poor })
    const outcome = async () => {
      go()
      await waitUntil(() => answered > 0)
      await Promise.all(engines.splice(0).map((engine) => engine.stop()))
      return [hesitates, inner.submissions]
    }
    return { id, quick, outcome }
  }
  const commit = <T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> => driver.transaction(work)
  /** Starts the other engine, whose service refuses the transfer for lack of funds, and cancels it. */
  async function refuseAndCancel(quick: ReturnType<typeof open>, id: string) {
    await quick.start()
    await waitUntil(async () => (await quick.transfers.get(id))?.stage === 'awaiting_funds', { timeoutMs: 90_000 })
    await commit((tx) => quick.transfers.cancel(tx, id))
  }

  it('does not leave any more: another one has found out that nothing was paid, and the host has canceled', async () => {
    // Heartbeats do not arrive, as from a process that stands still; all else does.
    const { id, quick, outcome } = await hesitate(['queue_extend'])
    await refuseAndCancel(quick, id)
    expect(await outcome()).toEqual([1, []])
  })

  it('does not leave any more: a person has compared with the service and released the transfer in the meantime', async () => {
    const { id, quick, outcome } = await hesitate([])
    await pool.query('update outlay.transfer set expires_at = now()')
    await commit((tx) => quick.fence(tx))
    await quick.reconcile({ since: new Date(Date.now() - 60_000), acknowledge: true })
    expect(await quick.transfers.get(id)).toMatchObject({ stage: 'blocked', reason: 'reconcile' })
    await pool.query('update outlay.transfer set expires_at = null')
    await commit((tx) => quick.transfers.release(tx, id))
    await refuseAndCancel(quick, id)
    expect(await outcome()).toEqual([1, []])
  })
})
