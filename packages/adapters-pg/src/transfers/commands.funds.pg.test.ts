import { createEngine } from '@outlay/core'
import { drain, memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('the arrival of funds', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  let pool: pg.Pool

  beforeAll(() => {
    pool = new pg.Pool({ connectionString: database.url, max: 20 })
  })
  afterEach(() => emptyOutbox(pool))
  afterAll(() => pool.end())

  it('reaches a transfer whose refusal is written while the arrival has not committed yet', async () => {
    const gateway = memoryGateway()
    const refusal = Promise.withResolvers<void>()
    gateway.script((submission) =>
      submission.attempt === 1 ? { outcome: 'insufficient_balance', detail: 'short' } : undefined,
    )
    const { submit } = gateway
    const slow = {
      ...gateway,
      submit: async (...args: Parameters<typeof submit>) => {
        const result = await submit(...args)
        if (args[0].attempt === 1) await refusal.promise
        return result
      },
    }
    const backend = postgres({ driver: pgDriver(pool) })
    // Without the arrival the transfer would go out again after ten minutes.
    const random = { ...backend.runtime.random, fraction: () => 20 }
    await using engine = createEngine({ backend, gateway: slow, polling: { maxDelayMs: 50 }, runtime: { random } })
    await engine.start()
    const { transaction } = pgDriver(pool)
    const { id } = await transaction((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'submitting')

    const found = await transaction(async (tx) => {
      const count = await engine.accounts.fundsArrived(tx, 'acme')
      refusal.resolve()
      await waitUntil(async () => (await engine.transfers.get(id))?.stage === 'awaiting_funds')
      return count
    })
    expect(found).toBe(0)
    await drain(engine, { awaitingFunds: true, timeoutMs: 60_000 })
    expect(await engine.transfers.get(id)).toMatchObject({ status: 'complete', attempt: 2 })
  })
})
