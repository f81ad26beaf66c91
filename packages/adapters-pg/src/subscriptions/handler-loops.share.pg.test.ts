import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createEngine } from '@outlay/core'
import { memoryGateway, recordingLogger, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('handlers that take long', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const ends: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())

  /** An engine, and a gate at which handlers wait. */
  function make(on = pool) {
    const logger = recordingLogger()
    const backend = postgres({ driver: pgDriver(on), logger })
    const engine = createEngine({ backend, gateway: memoryGateway({ idPrefix: randomUUID() }), runtime: { logger } })
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    ends.push(async () => {
      open()
      await engine.stop()
    })
    const enqueue = (accountId: string, count = 1) =>
      pgDriver(pool).transaction((tx) =>
        engine.transfers.enqueueMany(
          tx,
          Array.from({ length: count }, () => samplePayout(accountId)),
        ),
      )
    return { engine, logger, gate, enqueue }
  }

  it.each([
    ['from the first one of an account on', 0],
    ['once an account was slow', 3],
  ])('leave a loop to other accounts, %s', async (_, slowBefore) => {
    const { engine, gate, enqueue } = make()
    let hanging = 0
    let slow = 0
    let well = 0
    const handler = async ({ accountId }: { readonly accountId: string }) => {
      if (accountId === 'well') well += 1
      else if (slow < slowBefore) {
        slow += 1
        await delay(400)
      } else {
        hanging += 1
        await gate
      }
    }
    engine.subscribe('books', ['transfer.submitted'], handler, { timeoutMs: 600_000 })
    await enqueue('long', 60)
    await engine.start({ subscriptionConcurrency: 4, slowAfterMs: 200 })
    await waitUntil(() => hanging >= 3)
    await enqueue('well', 5)
    await waitUntil(() => well === 5)
    expect(hanging).toBe(3)
  })

  it('leave connections of the pool to the payouts, however many subscriptions there are', async () => {
    const small = new pg.Pool({ connectionString: database.url, max: 10 })
    ends.push(() => small.end())
    const { engine, logger, gate, enqueue } = make(small)
    let hanging = 0
    for (const name of ['books', 'mail', 'audit']) {
      const handler = async () => {
        hanging += 1
        await gate
      }
      engine.subscribe(name, ['transfer.submitted'], handler, { timeoutMs: 600_000 })
    }
    ends.reverse()
    await enqueue('long', 30)
    await engine.start()
    await waitUntil(() => hanging >= 3)
    const [payout] = await enqueue('well')
    await waitUntil(async () => (await engine.transfers.get(payout?.id ?? ''))?.remoteId != null)
    expect(logger.entries).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        fields: { maxConnections: 10, subscriptions: 3, subscriptionConcurrency: 2, wanted: 4, needed: 16 },
      }),
    )
  })
})
