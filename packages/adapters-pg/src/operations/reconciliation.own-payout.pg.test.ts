import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { listingGateway, restoredDatabase } from '../../test/restored-database.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'

describe('a reconciliation after an acceptance that came too late', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  let pool: pg.Pool
  const restored = restoredDatabase(() => pool)
  const slow = slowWorker(() => pool)
  beforeAll(() => {
    pool = new pg.Pool({ connectionString: database.url, max: 20 })
  })
  afterEach(() => restored.end())
  afterAll(() => pool.end())

  it('does not adopt the payout as one of others', async () => {
    const gateway = listingGateway()
    const { commit, rows } = restored
    const quick = restored.make({ ...gateway, submit: async () => poor })
    const { id } = await commit((tx) => quick.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    const held = await slow.submission(id)
    await slow.lose()
    await quick.start()
    await waitUntil(async () => (await quick.transfers.get(id))?.stage === 'awaiting_funds')
    await commit((tx) => quick.transfers.cancel(tx, id))
    // Funds have come, and so does the first request, and then its answer.
    await gateway.submit(held, { signal: new AbortController().signal })
    expect(await slow.settle(id, 1, slow.accepted('remote-1'))).toBe('stale')
    await commit((tx) => quick.fence(tx))
    const reconciler = restored.make(gateway)
    await reconciler.reconcile({ since: new Date(Date.now() - 60_000) })
    expect(await rows('select id, idempotency_key from outlay.transfer where id <> $1', [id])).toEqual([])
  })
})
