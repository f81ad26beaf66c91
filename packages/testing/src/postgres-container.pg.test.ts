import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withAdmin } from './database.ts'
import { type Postgres, startPostgres } from './postgres.ts'

// A container engine is not always available, so containers are tested only on request.
const image = process.env.OUTLAY_POSTGRES_IMAGE ?? 'postgres:18'
// An image may recreate its data on every start; the official one does not.
const isOfficial = /^(docker.io\/)?(library\/)?postgres:/.test(image)

describe.runIf(process.env.OUTLAY_POSTGRES === 'container')('a container', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres({ provider: 'container', settings: { work_mem: '7MB' } })
  }, 180_000)

  afterAll(() => postgres?.stop())

  test('accepts settings and many connections', async () => {
    const [row] = await rows(postgres.url, `select current_setting('work_mem') as work_mem`)
    expect(row).toEqual({ work_mem: '7MB' })
    const [limit] = await rows(postgres.url, `select current_setting('max_connections') as at`)
    expect(limit).toEqual({ at: '600' })
    expect(Number.parseInt(postgres.version, 10)).toBeGreaterThanOrEqual(15)
  })

  test.runIf(isOfficial).each(['fast', 'immediate'] as const)(
    'comes back on its port with its data after a restart, %s',
    async (mode) => {
      const url = await postgres.createDatabase(`restarted_${mode}`)
      await withAdmin(url, (client) => client.query('create table fact as select 42 as answer'))
      const started = await rows(postgres.url, 'select pg_postmaster_start_time() as at')

      await postgres.restart({ mode })

      expect(await rows(url, 'select answer from fact')).toEqual([{ answer: 42 }])
      expect(await rows(postgres.url, 'select pg_postmaster_start_time() as at')).not.toEqual(started)
    },
  )

  test('is gone when it was stopped', async () => {
    const other = await startPostgres({ provider: 'container', durable: false })
    expect(await rows(other.url, 'show fsync')).toEqual([{ fsync: 'off' }])
    await other.stop()
    await expect(rows(other.url, 'select 1')).rejects.toThrow()
  })
})

async function rows(url: string, text: string): Promise<Record<string, unknown>[]> {
  return withAdmin(url, async (client) => (await client.query<Record<string, unknown>>(text)).rows)
}
