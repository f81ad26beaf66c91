import { createEngine, type EngineOptions, type Gateway, type WorkOptions } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../test/outbox.ts'
import { postgres } from './backend.ts'
import { pgDriver } from './drivers/pg.ts'

describe('an engine', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  let pool: pg.Pool

  beforeAll(() => {
    pool = new pg.Pool({ connectionString: database.url, max: 30 })
  })
  afterEach(() => emptyOutbox(pool))
  afterAll(() => pool.end())

  const make = (options: Omit<EngineOptions<pg.PoolClient>, 'backend'>) =>
    createEngine({ backend: postgres({ driver: pgDriver(pool) }), ...options })
  type Made = ReturnType<typeof make>
  const pay = async (engine: Made) => {
    const { id } = await pgDriver(pool).transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'settled')
  }
  /** A gateway that sends nothing once it is closed, and whose close rejects. */
  const closable = () => {
    const gateway = memoryGateway()
    const closes = { count: 0 }
    const own: Gateway = {
      get: (...read) => gateway.get(...read),
      submit: (...sent) => (closes.count > 0 ? Promise.reject(new Error('closed')) : gateway.submit(...sent)),
      close() {
        closes.count += 1
        return Promise.reject(new Error('not now'))
      },
    }
    return { own, closes }
  }

  it('that stops leaves the gateway to the other engines that use it, and to its own next start', async () => {
    const { own, closes } = closable()
    const [first, second] = [make({ gateway: own }), make({ gateway: own })]
    await first.start()
    await second.start()
    await first.stop()
    await pay(second)
    await second.stop()
    await first.start()
    await pay(first)
    await first.stop()
    expect(closes.count).toBe(0)
  })

  it('goes on after a start that races a stop, and is stopped by its signal', async () => {
    const engine = make({ gateway: memoryGateway() })
    const controller = new AbortController()
    const starting = engine.start()
    const stopping = engine.stop()
    const again = engine.start({ signal: controller.signal })
    await Promise.all([starting, stopping, again])
    await pay(engine)
    controller.abort()
    await engine.stop()
    await engine.start()
    await engine.stop()
  })

  it('refuses options that are no numbers by their names, and starts nothing', async () => {
    const engine = make({ gateway: memoryGateway() })
    const refused: readonly (readonly [WorkOptions, string])[] = [
      [{ concurrency: 0 }, 'concurrency is a whole number from 1 to 100000; got 0.'],
      [{ concurrency: Number.NaN }, 'concurrency'],
      [{ concurrency: '10' as unknown as number }, 'concurrency'],
      [{ pollIntervalMs: Number.NaN }, 'pollIntervalMs'],
      [{ pollIntervalMs: 0 }, 'pollIntervalMs'],
      [{ pollIntervalMs: Number.POSITIVE_INFINITY }, 'pollIntervalMs'],
      [{ subscriptionConcurrency: 0.5 }, 'subscriptionConcurrency'],
      [{ stopTimeoutMs: -1 }, 'stopTimeoutMs'],
      [{ slowAfterMs: 0 }, 'slowAfterMs'],
      [{ retention: { archiveAfterDays: Number.NaN } }, 'retention.archiveAfterDays is a number from 0 on; got NaN.'],
    ]
    for (const [options, message] of refused) await expect(engine.start(options)).rejects.toThrow(message)
    for (const batchSize of [0, 1.5, Number.NaN]) {
      expect(() => engine.subscribe('odd', ['transfer.completed'], async () => undefined, { batchSize })).toThrow(
        'batchSize',
      )
    }
    expect(() => make({ gateway: memoryGateway(), polling: { maxDelayMs: Number.NaN } })).toThrow('polling.maxDelayMs')
    expect(() => make({ gateway: memoryGateway(), timeouts: { submitMs: 0 } })).toThrow('timeouts.submitMs')
    await engine.start()
    await engine.stop()
  })
})
