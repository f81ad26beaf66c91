import { createEngine } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { listedGateway } from '../../test/listed-gateway.ts'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { poor, slowWorker } from '../../test/slow-worker.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('a payout that awaits funds while an earlier request is open', async () => {
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

  it('is not adopted as a transfer of others', async () => {
    const service = listedGateway()
    let hasFunds = false
    service.answer = (_, moment) => (moment === 'before' && !hasFunds ? Promise.resolve(poor) : undefined)
    const engine = createEngine({ backend: postgres({ driver }), gateway: service, polling: { maxDelayMs: 50 } })
    engines.push(engine)
    await commit((tx) => engine.accounts.watch(tx, 'acme'))
    const { id } = await commit((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await slow.claim()
    const held = await slow.submission(id)
    await slow.lose()
    await engine.start()
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
    hasFunds = true
    await service.submit(held, { signal: new AbortController().signal })
    const lists = service.requests.list
    await waitUntil(() => service.requests.list >= lists + 2, { timeoutMs: 60_000 })
    await waitUntil(async () => (await pool.query('select 1 from outlay.found_transfer')).rowCount === 0, {
      timeoutMs: 5_000,
    }).catch(() => 0)
    expect.soft((await pool.query('select idempotency_key from outlay.transfer where id <> $1', [id])).rows).toEqual([])
    // The slow worker's answer, and the next attempt.
    await slow.settle(id, 1, slow.accepted('remote-1'))
    await commit((tx) => engine.accounts.fundsArrived(tx, 'acme'))
    await waitUntil(async () =>
      ['submitted', 'settled', 'blocked'].includes((await engine.transfers.get(id))?.stage ?? ''),
    )
    expect(await engine.transfers.get(id)).toMatchObject({ remoteId: 'remote-1' })
  })
})
