import { createEngine } from '@outlay/core'
import { drain, memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { samplePayout } from '../test/outbox.ts'
import { postgres } from './backend.ts'
import { pgDriver } from './drivers/pg.ts'

describe('several engines in one database', async () => {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  afterAll(() => pool.end())

  it('share a transaction of the host and nothing else', async () => {
    const driver = pgDriver(pool)
    const sides = ['payouts', 'refunds'].map((schema) => {
      const gateway = memoryGateway()
      return { gateway, engine: createEngine({ backend: postgres({ driver, schema }), gateway }) }
    })
    const received: string[] = []
    for (const [index, { engine }] of sides.entries()) {
      engine.subscribe('books', ['transfer.completed'], async ({ transferId }) => {
        received.push(`${index} ${transferId}`)
      })
      await engine.migrate()
    }
    const transfers = await driver.transaction(async (tx) => {
      const enqueued = []
      for (const { engine } of sides) {
        enqueued.push(await engine.transfers.enqueue(tx, samplePayout('acme', { idempotencyKey: 'INV-1' })))
      }
      return enqueued
    })
    for (const { engine } of sides) await engine.start()
    for (const { engine } of sides) await drain(engine)
    expect(received.toSorted()).toEqual(transfers.map(({ id }, index) => `${index} ${id}`))
    for (const [index, { engine, gateway }] of sides.entries()) {
      expect(gateway.submissions.map(({ transferId }) => transferId)).toEqual([transfers[index]?.id])
      expect(await engine.transfers.get(transfers[1 - index]?.id ?? '')).toBeUndefined()
      await engine.stop()
    }
  })
})
