import { setTimeout as delay } from 'node:timers/promises'
import { recordingLogger, waitUntil } from '@outlay/testing'
import pg from 'pg'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { testHost } from '../../test/host.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('handlers that take long', async () => {
  const { database, pool, open, enqueueMany } = await testHost({ max: 20 })

  /** Handlers wait here until the test is over. */
  let gate = Promise.withResolvers<void>()
  afterEach(() => {
    gate.resolve()
    gate = Promise.withResolvers()
  })

  function make(on = pool) {
    const logger = recordingLogger()
    const engine = open({ driver: pgDriver(on), logger })
    const enqueue = (accountId: string, count = 1) => enqueueMany(engine, count, accountId)
    return { engine, logger, enqueue }
  }

  it.each([
    ['from the first one of an account on', 0],
    ['once an account was slow', 3],
  ])('leave a loop to other accounts, %s', async (_, slowBefore) => {
    const { engine, enqueue } = make()
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
        await gate.promise
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
    onTestFinished(() => small.end())
    const { engine, logger, enqueue } = make(small)
    let hanging = 0
    for (const name of ['books', 'mail', 'audit']) {
      const handler = async () => {
        hanging += 1
        await gate.promise
      }
      engine.subscribe(name, ['transfer.submitted'], handler, { timeoutMs: 600_000 })
    }
    await enqueue('long', 30)
    await engine.start()
    await waitUntil(() => hanging >= 3)
    const [payout] = await enqueue('well')
    await waitUntil(async () => (await engine.transfers.get(payout?.id ?? ''))?.remoteId != null)
    expect(logger.entries).toContainEqual(
      expect.objectContaining({
        level: 'info',
        fields: { maxConnections: 10, subscriptions: 3, subscriptionConcurrency: 2, wanted: 4, needed: 16 },
      }),
    )
  })
})
