import { describe, expect, it } from 'vitest'
import { testHost } from '../../test/host.ts'
import { queueSchema } from '../../test/queue.ts'
import { postgres } from '../backend.ts'

describe('an engine whose queue has another name than that of its schema', async () => {
  const { pool, driver, open } = await testHost({ max: 10 })
  const refusal = { name: 'OutlayError', field: 'queueSchema' }
  const other = () => postgres({ driver: driver, queueSchema: 'jobs' })

  it('is not migrated: a second queue would get no job', async () => {
    await expect(other().migrate()).rejects.toMatchObject(refusal)
    expect((await pool.query(`select to_regnamespace('jobs') as found`)).rows).toEqual([{ found: null }])
    await postgres({ driver, queueSchema }).migrate()
  })

  it('does not start, even where that queue exists', async () => {
    await postgres({ driver: driver, schema: 'second', queueSchema: 'jobs' }).migrate()
    await expect(open({ backend: other() }).start()).rejects.toMatchObject(refusal)
    await open().start()
  })
})
