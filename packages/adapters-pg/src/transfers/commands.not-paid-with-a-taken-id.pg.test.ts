import { createEngine, type SubmitResult } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('a payout whose id at the service was given to its twin', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const driver = pgDriver(pool)
  const engines: { stop(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop()))
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())
  const commit = <T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> => driver.transaction(work)

  it('is not resolved as not paid', async () => {
    const service = memoryGateway({ status: 'processing' })
    let answer = () => {}
    const answered = new Promise<void>((resolve) => (answer = resolve))
    const slow = { id: '' }
    const engine = createEngine({
      backend: postgres({ driver }),
      gateway: {
        ...service,
        async submit(submission, options): Promise<SubmitResult> {
          if (submission.transferId !== slow.id) return { outcome: 'unknown', detail: 'The answer was lost.' }
          const result = await service.submit(submission, options)
          await answered
          return result
        },
      },
    })
    engines.push(engine)
    const enqueue = (idempotencyKey: string) =>
      commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey })))
    const { id: twin } = await enqueue('twin')
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(twin))?.reason === 'outcome_unknown')
    await pool.query(`update outlay.transfer set unknown_since = now() - interval '25 hours'`)
    await waitUntil(async () => (await engine.transfers.get(twin))?.stage === 'blocked')
    await commit(async (tx) => {
      slow.id = (await engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey: 'paid' }))).id
    })
    await waitUntil(() => service.transfers.size === 1)
    await commit((tx) => engine.transfers.resolve(tx, twin, { remoteId: 'remote-1' }))
    answer()
    await waitUntil(async () => (await engine.transfers.get(slow.id))?.reason === 'remote_id_taken')
    // Eleven minutes later, as the command asks for.
    await pool.query(`update outlay.attempt set claimed_at = claimed_at - interval '11 minutes'`)
    await expect(commit((tx) => engine.transfers.resolve(tx, slow.id, { notPaid: true }))).rejects.toMatchObject({
      code: 'conflict',
    })
  })
})
