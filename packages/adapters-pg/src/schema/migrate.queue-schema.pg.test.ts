import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { migrateOutbox } from '../../test/outbox.ts'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'

describe('an engine whose queue has another name than that of its schema', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  const pool = new pg.Pool({ connectionString: database.url, max: 10 })
  afterAll(() => pool.end())
  const refusal = { name: 'OutlayError', field: 'queueSchema' }
  const other = () => postgres({ driver: pgDriver(pool), queueSchema: 'jobs' })

  it('is not migrated: a second queue would get no job', async () => {
    await expect(other().migrate()).rejects.toMatchObject(refusal)
    expect((await pool.query(`select to_regnamespace('jobs') as found`)).rows).toEqual([{ found: null }])
    await postgres({ driver: pgDriver(pool), queueSchema: 'outlay_queue' }).migrate()
  })

  it('does not start, even where that queue exists', async () => {
    await postgres({ driver: pgDriver(pool), schema: 'second', queueSchema: 'jobs' }).migrate()
    await using engine = createEngine({ backend: other(), gateway: memoryGateway() })
    await expect(engine.start()).rejects.toMatchObject(refusal)
    await using its = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway: memoryGateway() })
    await its.start()
  })
})
