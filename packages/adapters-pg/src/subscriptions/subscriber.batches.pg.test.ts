import { randomUUID } from 'node:crypto'
import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, afterEach, describe, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('handlers of large batches that hang', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 20 })
  const ends: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0)) await end()
    await emptyOutbox(pool)
  })
  afterAll(() => pool.end())

  it('leave a loop to other accounts, however many events they have leased', async () => {
    const gateway = memoryGateway({ idPrefix: randomUUID() })
    const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway })
    const gate = Promise.withResolvers<void>()
    ends.push(async () => {
      gate.resolve()
      await engine.stop()
    })
    const enqueue = (accountId: string, count: number) =>
      pgDriver(pool).transaction((tx) =>
        engine.transfers.enqueueMany(
          tx,
          Array.from({ length: count }, () => samplePayout(accountId)),
        ),
      )
    // Nobody attends yet, so the events of the account that hangs wait together. One batch stands for those of a fleet that add up
    // to as many: a fetch reads no more than a thousand due events, leased ones included.
    await pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.submitted}')`)
    await enqueue('long', 2_000)
    await engine.start()
    await waitUntil(async () => (await engine.backlog()).undelivered === 2_000)
    await engine.stop()

    const another = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway })
    ends.unshift(async () => {
      gate.resolve()
      await another.stop()
    })
    let well = 0
    let hanging = 0
    const handler = async ({ accountId }: { readonly accountId: string }) => {
      if (accountId === 'well') well += 1
      else {
        hanging += 1
        await gate.promise
      }
    }
    another.subscribe('books', ['transfer.submitted'], handler, { batchSize: 1_000, timeoutMs: 600_000 })
    await another.start({ subscriptionConcurrency: 4, slowAfterMs: 200 })
    await waitUntil(() => hanging >= 1)
    await enqueue('well', 5)
    await waitUntil(() => well === 5, {
      timeoutMs: 20_000,
      describe: () => `${well} of 5, beside ${hanging} that hang`,
    })
  })
})
