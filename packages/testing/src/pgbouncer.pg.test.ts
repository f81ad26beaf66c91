import { describe, expect, test } from 'vitest'
import { withAdmin } from './database.ts'
import { findPgBouncer, startPgBouncer } from './pgbouncer.ts'
import { testDatabase } from './vitest.ts'

// Like a container engine, it is not everywhere.
describe.skipIf((await findPgBouncer()) === undefined)('PgBouncer', async () => {
  const database = await testDatabase()

  test('shares one connection of the server among clients, and is gone when it was stopped', async () => {
    const bouncer = await startPgBouncer({ url: database.url, poolSize: 1 })
    const pids = await withAdmin(bouncer.url, (one) =>
      withAdmin(bouncer.url, (other) =>
        Promise.all([one, other].map(async (each) => (await each.query('select pg_backend_pid() as pid')).rows[0])),
      ),
    )
    expect(pids[0]).toEqual(pids[1])
    await bouncer.stop()
    await expect(withAdmin(bouncer.url, (admin) => admin.query('select 1'))).rejects.toThrow()
  })

  test('reports why it does not start', async () => {
    const started = startPgBouncer({ url: database.url, settings: { pool_mode: 'wrong' } })
    await expect(started).rejects.toThrow(/pool_mode/)
  })
})
