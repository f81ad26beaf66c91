import { testDatabase } from '@outlay/testing/vitest'
import { Pool, type PoolClient } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inTransaction } from '../context.ts'
import { type PipelineWork, runPipeline } from './pipeline.ts'
import { run, statement } from './statement.ts'
import { asClient, asSystem } from './tenant.ts'

const database = await testDatabase()
const pools: Pool[] = []
const open = (options: object = {}) => {
  const pool = new Pool({ connectionString: database.url, max: 1, ...options })
  pools.push(pool)
  return pool
}
const admin = open()
beforeAll(() => admin.query('create table line (n int primary key)'))
beforeEach(() => admin.query('delete from line'))
afterAll(() => Promise.all(pools.map((pool) => pool.end())))

const insert = statement('line_insert', 'insert into line values ($1)')
const put =
  (n: number): PipelineWork =>
  (tx) =>
    run(tx, { schema: 'any' }, insert, [n])
const stored = async () => (await admin.query('select n from line order by n')).rows.map(({ n }) => n)
const settings = [['outlay.client_id', 'a']] as const

describe('what somebody has left on a connection of the pool', () => {
  const leave = async (pool: Pool, work: (client: PoolClient) => unknown) => {
    const client = await pool.connect()
    await work(client)
    client.release()
  }

  it('is no transaction that takes in what is written later', async () => {
    const pool = open()
    await leave(pool, (client) => client.query('begin'))
    await runPipeline(pool, settings, [put(1)])
    expect(await stored()).toEqual([1])
    await leave(pool, (client) => client.query('begin'))
    await inTransaction({ pool }, (tx) => tx.query('insert into line values (2)'))
    expect(await stored()).toEqual([1, 2])
  })

  it('makes a write fail where it is a `begin` that nobody waited for, and the next one is committed', async () => {
    const pool = open()
    await leave(pool, (client) => {
      client.query('select pg_sleep(0.1)').catch(() => undefined)
      client.query('begin').catch(() => undefined)
    })
    await expect(runPipeline(pool, settings, [put(1)])).rejects.toThrow(/left in a transaction/)
    await runPipeline(pool, settings, [put(2)])
    expect(await stored()).toEqual([2])
  })

  it('gives no tenant the rows of all', async () => {
    const pool = open()
    const read = { text: `select current_setting('outlay.system', true) as system`, values: [] }
    await leave(pool, (client) => client.query('begin'))
    expect((await asSystem({ pool }).send(read)).rows).toEqual([{ system: 'on' }])
    expect((await asClient({ pool }, 'a').send(read)).rows).toEqual([{ system: '' }])
  })

  it('is no other statement under the name of one that is sent', async () => {
    const pool = open()
    await leave(pool, (client) => client.query({ name: 'any.line_insert', text: 'select $1::int', values: [1] }))
    await expect(runPipeline(pool, settings, [put(1)])).rejects.toThrow(/any\.line_insert is another statement/)
    expect(await stored()).toEqual([])
  })
})

it('a work ends when the pool has no connection for its statement', async () => {
  const pool = open({ connectionTimeoutMillis: 50 })
  const holder = await pool.connect()
  const ends: unknown[] = []
  const work: PipelineWork = (tx) => put(1)(tx).catch((error: Error) => ends.push(error.message))
  await expect(runPipeline(pool, settings, [work])).rejects.toThrow('timeout')
  expect(ends).toEqual([expect.stringContaining('timeout')])
  holder.release()
})
