import { testDatabase } from '@outlay/testing/vitest'
import knex from 'knex'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import type { Driver } from '../database/driver.ts'
import { knexDriver } from './knex.ts'
import { pgDriver } from './pg.ts'

const insert = { name: 'insert_line', text: 'insert into line values ($1)' }

/** What the engine writes outside the host's transactions. */
const ways: Readonly<Record<string, (driver: Driver<never>, text: string) => Promise<unknown>>> = {
  query: (driver, text) => driver.query(insert, [text]),
  run: (driver, text) => driver.run(insert.text, [text]),
  session: (driver, text) => driver.session((session) => session.query(insert.text, [text])),
  transaction: (driver, text) => driver.transaction((tx) => driver.execute(tx, insert, [text])),
}

describe('a connection that the host has returned to the pool in an open transaction', async () => {
  const { url } = await testDatabase()
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } })
  const other = new pg.Pool({ connectionString: url, max: 1 })
  await other.query('create table line (text text primary key)')
  afterAll(() => Promise.all([pool.end(), db.destroy(), other.end()]))
  const libraries: Readonly<Record<string, readonly [Driver<never>, (text: string) => PromiseLike<unknown>]>> = {
    pg: [pgDriver(pool) as unknown as Driver<never>, (text) => pool.query(text)],
    knex: [knexDriver(db) as unknown as Driver<never>, (text) => db.raw(text)],
  }

  it.each([
    ['pg', 'query'],
    ['pg', 'run'],
    ['pg', 'session'],
    ['pg', 'transaction'],
    ['knex', 'query'],
    ['knex', 'run'],
    ['knex', 'session'],
  ] as const)('gets nothing of what the engine writes, and commits nothing with it: %s, %s', async (library, way) => {
    const [driver, send] = libraries[library] ?? []
    if (driver === undefined || send === undefined) throw new Error('There is no such library.')
    for (const state of ['open', 'failed']) {
      await other.query('delete from line')
      // As by a host that takes the pool for a client.
      await send('begin')
      await send(`insert into line values ('of the host')`)
      if (state === 'failed') await expect(Promise.resolve(send('select 1 / 0'))).rejects.toThrow('division by zero')
      await ways[way]?.(driver, 'of the engine')
      expect((await other.query('select text from line')).rows).toEqual([{ text: 'of the engine' }])
      await send('rollback')
    }
  })

  it('stays open where its end is under way', async () => {
    await other.query('delete from line')
    const client = await pool.connect()
    await client.query('begin')
    await client.query(insert.text, ['of the host'])
    const committed = client.query('commit')
    client.release()
    await ways.query?.(pgDriver(pool) as unknown as Driver<never>, 'of the engine')
    await committed
    expect((await other.query('select text from line order by text')).rows).toEqual([
      { text: 'of the engine' },
      { text: 'of the host' },
    ])
  })
})
