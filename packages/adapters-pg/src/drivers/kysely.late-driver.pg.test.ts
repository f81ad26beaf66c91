import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { kyselyDriver } from './kysely.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url, max: 5 })
const kysely = new Kysely({ dialect: new PostgresDialect({ pool }) })
afterAll(() => pool.end())

it('refuses behind a rollback also in a transaction that is older than the driver', async () => {
  const enqueueing = kysely.transaction().execute(async (tx) => {
    const driver = kyselyDriver({ db: kysely, pool })
    const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
    const rollback = tx.executeQuery(CompiledQuery.raw('rollback'))
    const refused = engine.transfers.enqueue(tx, samplePayout('acme'))
    await rollback
    await refused
  })

  await expect(enqueueing).rejects.toMatchObject({ code: 'no_transaction' })
  expect((await pool.query('select id from outlay.transfer')).rows).toEqual([])
})
