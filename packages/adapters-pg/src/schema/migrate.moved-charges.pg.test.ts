import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { resolveNames } from './database-names.ts'
import { applyMigrations, engineMigrations } from './migrate.ts'

/** As it was before what moves was counted. */
async function earlierDatabase() {
  const database = await testDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  afterAll(() => pool.end())
  const client = await pool.connect()
  const earlier = engineMigrations.filter(({ name }) => !/^0065_/.test(name))
  await applyMigrations(client, { schema: 'outlay', migrations: earlier, tokens: resolveNames({}).tokens })
  client.release()
  return pool
}

describe('a migration of a database that accounts are leaving', async () => {
  const pool = await earlierDatabase()

  it('counts again what was packed, as long as the account may go back', async () => {
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

describe('a migration of a database where earlier code packs an account at that moment', async () => {
  const pool = await earlierDatabase()

  it('waits for it, and counts again what that took away; then that code packs and hands over no more', async () => {
    const span = `'all', 'acme', timestamptz '2026-01-01', timestamptz '2026-02-01'`
    await pool.query(
      `insert into outlay.departed_account (account_id, to_node, version, state) values ('acme', 'west', 1, 'leaving')`,
    )
    await pool.query(`insert into outlay.limit_use (counter, scope, began_at, until, used) values (${span}, 11)`)
    await pool.query(`create function outlay.move_charges(text[], integer) returns void language sql as ''`)
    const packing = await pool.connect()
    await packing.query('begin')
    await packing.query(`select outlay.move_hold('acme', 1, 'leaving')`)
    await packing.query('update outlay.limit_use set used = used - 10')
    await packing.query(
      `insert into outlay.moved_row select 'acme', 'limit_charge', 'one', jsonb_build_array(to_jsonb(c))
       from (select 'one' as transfer_id, x.*, 10 as amount from (values (${span})) x (counter, scope, began_at, until)) c`,
    )
    let isMigrated = false
    const migrated = postgres({ driver: pgDriver(pool) })
      .migrate()
      .then(() => (isMigrated = true))
    await waitUntil(async () => {
      const { rows } = await pool.query('select from pg_locks where not granted')
      return isMigrated || rows.length > 0
    })
    await packing.query('commit')
    packing.release()
    await migrated
    const { rows } = await pool.query('select used::integer as used from outlay.limit_use')
    expect(rows).toEqual([{ used: 11 }])
    for (const name of ['move_charges(text[], integer)', 'move_hand_over(text, bigint)'])
      expect((await pool.query('select to_regprocedure($1) as found', [`outlay.${name}`])).rows).toEqual([
        { found: null },
      ])
  })
})
