import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from './database-names.ts'
import { applyMigrations, engineMigrations } from './migrate.ts'

describe('a migration of a database that accounts are leaving', async () => {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  afterAll(() => pool.end())

  it('counts again what was packed, as long as the account may go back', async () => {
    const client = await pool.connect()
    const earlier = engineMigrations.filter(({ name }) => !/^0065_/.test(name))
    await applyMigrations(client, { schema: 'outlay', migrations: earlier, tokens: resolveNames({}).tokens })
    client.release()
    for (const state of ['leaving', 'packed', 'returning', 'handed_over', 'arriving']) {
      const charge = { counter: 'all', scope: state, began_at: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' }
      await pool.query(
        `insert into outlay.departed_account (account_id, to_node, version, state) values ($1, 'west', 1, $1)`,
        [state],
      )
      await pool.query(
        `insert into outlay.limit_use (counter, scope, began_at, until, used) values ($1, $2, $3, $4, 1)`,
        Object.values(charge),
      )
      for (const id of ['one', 'two'])
        await pool.query(`insert into outlay.moved_row values ($1, 'limit_charge', $2, $3)`, [
          ...[state, id, JSON.stringify([{ transfer_id: id, ...charge, amount: 10 }])],
        ])
    }
    await postgres({ driver: pgDriver(pool) }).migrate()
    const { rows } = await pool.query('select scope, used::integer as used from outlay.limit_use order by scope')
    expect(rows).toEqual([
      { scope: 'arriving', used: 1 },
      { scope: 'handed_over', used: 1 },
      { scope: 'leaving', used: 21 },
      { scope: 'packed', used: 21 },
      { scope: 'returning', used: 21 },
    ])
  })
})
