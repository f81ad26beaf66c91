import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('a payout that was canceled while an earlier request was open', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const driver = pgDriver(pool)
  const slow = slowWorker(() => pool)
  const engines: { stop(): Promise<void> }[] = []
  afterEach(async () => {
    await Promise.all(engines.splice(0).map((engine) => engine.stop()))
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())
  const commit = <T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> => driver.transaction(work)

  it('is not resubmitted at once', async () => {
    const service = memoryGateway({ status: 'processing' })
    let hasFunds = false
    const gateway = {
      ...service,
      submit: async (...sent: Parameters<typeof service.submit>) => (hasFunds ? service.submit(...sent) : poor),
    }
    const engine = createEngine({ backend: postgres({ driver }), gateway })
    engines.push(engine)
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    const held = await slow.submission(id)
    await slow.lose()
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    const again = await commit(async (tx) => {
      await engine.transfers.cancel(tx, id)
      return engine.transfers.resubmit(tx, id)
    }).catch(() => undefined)
    hasFunds = true
    await service.submit(held, { signal: new AbortController().signal })
    if (again !== undefined) {
      await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))
      await waitUntil(async () =>
        ['submitted', 'settled'].includes((await engine.transfers.get(again.id))?.stage ?? ''),
      )
    }
    expect(service.transfers.size).toBe(1)
  })
})
