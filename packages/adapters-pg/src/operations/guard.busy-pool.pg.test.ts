import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url, max: 4 })
afterAll(() => pool.end())

// The wait for a connection counted as the age of what the guard knows and of the heartbeats, so no payout of any account was sent, though
// statements were answered all along.
it('a pool whose callers wait for more than a second still sends', async () => {
  const gateway = memoryGateway()
  // Its client is recorded before the request leaves, which waits for a connection, too.
  const identified = { ...gateway, identify: async () => 'client' }
  const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: identified })
  await engine.start({ concurrency: 4 })
  let isOver = false
  let answered = 0
  const readers = Array.from({ length: 16 }, async () => {
    while (!isOver) {
      await pool.query('select pg_sleep(0.5)')
      answered += 1
    }
  })
  try {
    // Another process of the host enqueues, on a pool of its own.
    const others = new pg.Pool({ connectionString: database.url, max: 1 })
    const another = createEngine({ backend: postgres({ driver: pgDriver(others) }), gateway: memoryGateway() })
    const payouts = Array.from({ length: 3 }, () => samplePayout('acme'))
    await pgDriver(others).transaction((tx) => another.transfers.enqueueMany(tx, payouts))
    await others.end()
    await waitUntil(() => gateway.submissions.length === 3, {
      timeoutMs: 90_000,
      describe: () => `three payouts, beside ${answered} statements of the host; sent ${gateway.submissions.length}`,
    })
    expect(gateway.submissions).toHaveLength(3)
  } finally {
    isOver = true
    await Promise.all(readers)
    await engine.stop()
  }
}, 180_000)
