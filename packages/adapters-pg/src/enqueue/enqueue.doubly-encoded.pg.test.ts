import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { samplePayout } from '../../test/outbox.ts'
import { openSql } from '../../test/postgres-js-subjects.ts'
import { postgres } from '../backend.ts'
import { postgresJsDriver } from '../drivers/postgres-js.ts'

describe('a driver that encodes JSON text as JSON once more', async () => {
  const { url } = await testDatabase()

  it('is refused by the database, with a sentence that says what to do', async () => {
    const sql = openSql(url, { max: 2 })
    const pool = new pg.Pool({ connectionString: url, max: 2 })
    onTestFinished(() => Promise.all([sql.end(), pool.end()]).then(() => undefined))
    const ours = postgresJsDriver({ sql, pool })
    // What postgres.js does by itself: it learns that the parameter is jsonb, and makes a JSON string of the text.
    const driver: typeof ours = {
      ...ours,
      name: 'naive',
      execute: (tx, { text }, values) => tx.unsafe(text, values as never),
    }
    const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
    await engine.migrate()
    for (const more of [{}, { metadata: { order: '7' } }]) {
      const enqueued = sql.begin((tx) => engine.transfers.enqueue(tx, samplePayout('acme', more)))
      await expect(enqueued).rejects.toThrow(
        'The driver "naive" has encoded JSON text as JSON once more, so the request would be stored as a string',
      )
    }
    expect(await sql`select from outlay.transfer`).toHaveLength(0)
  })
})
