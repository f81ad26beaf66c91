import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import type { TransactionSql } from 'postgres'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openSql } from '../../test/postgres-js-subjects.ts'
import { postgresJsDriver } from './postgres-js.ts'

const { url } = await testDatabase()
const pool = new pg.Pool({ connectionString: url, max: 2 })
// Every transaction of the host is on the same connection, one right after the other.
const sql = openSql(url, { max: 1 })
const driver = postgresJsDriver({ sql, pool })
const insert = { name: 'insert_line', text: 'insert into line values ($1)' }
await pool.query('create table line (text text primary key)')
beforeEach(() => pool.query('delete from line'))
afterAll(() => Promise.all([sql.end(), pool.end()]))

const lines = async () => (await pool.query('select text from line order by text')).rows.map(({ text }) => text)
const passed = async (microtasks: number) => {
  for (let count = 0; count < microtasks; count += 1) await undefined
}
const refused = { code: 'no_transaction', field: 'tx' }
const outcome = (running: Promise<unknown>) =>
  running.then(
    () => 'done',
    (error: unknown) => error,
  )

/** The ends of a transaction of the host. */
const ends: Readonly<Record<string, (tx: TransactionSql) => Promise<unknown>>> = {
  commit: async (tx) => tx`select 1`,
  rollback: () => Promise.reject(new Error('changed my mind')),
  'failed commit': async (tx) => {
    await tx`select 1 / 0`.catch(() => undefined)
  },
}

describe.each(Object.entries(ends))('after the %s of a transaction of the host', (_, end) => {
  it.each(['its own handle', 'the handle of a savepoint'])('%s gets nothing into the next one', async (handle) => {
    let kept: TransactionSql | undefined
    const first = sql.begin(async (tx) => {
      if (handle === 'its own handle') kept = tx
      else {
        await tx.savepoint(async (inner) => {
          kept = inner
        })
      }
      await end(tx)
    })
    await outcome(first)
    await sql.begin(async (tx) => {
      await tx`insert into line values ('of the next')`
      if (kept === undefined) throw new Error('There is no handle.')
      expect(await outcome(driver.execute(kept, insert, ['late']))).toMatchObject(refused)
    })
    expect(await lines()).toEqual(['of the next'])
  })

  it.each(Array.from({ length: 16 }, (_, microtasks) => microtasks))(
    'what comes %i microtasks after its work is in it or refused, and not in the one that waits',
    async (microtasks) => {
      let late: Promise<unknown> | undefined
      const first = sql.begin(async (tx) => {
        const work = end(tx)
        const settled = outcome(work)
        late = settled.then(() => passed(microtasks)).then(() => outcome(driver.execute(tx, insert, ['late'])))
        await work
      })
      const next = sql.begin(async (tx) => {
        await late
        await tx`insert into line values ('of the next')`
      })
      const [ended] = await Promise.all([outcome(first), outcome(next)])
      const isWritten = (await late) === 'done' && ended === 'done'
      expect(await lines()).toEqual([...(isWritten ? ['late'] : []), 'of the next'])
    },
  )
})

it('a call that nobody awaits ends, in the transaction or refused', async () => {
  let late: Promise<unknown> | undefined
  await sql.begin(async (tx) => {
    // The connection takes nothing more while it describes the first use of a statement with parameters.
    void tx`insert into line values (${'of the host'})`.execute()
    late = outcome(driver.execute(tx, insert, ['unawaited']))
  })
  const written = (await late) === 'done' ? ['of the host', 'unawaited'] : ['of the host']
  expect(await lines()).toEqual(written)
})

it('a transaction of a handler that has ended refuses its host too', async () => {
  let kept: TransactionSql | undefined
  await driver.transaction(async (tx) => {
    kept = tx
    await tx`insert into line values ('of the handler')`
  })
  await driver
    .transaction(async (tx) => {
      await tx`insert into line values ('of the next')`
      if (kept === undefined) throw new Error('There is no handle.')
      expect(await outcome(kept`insert into line values ('late')`)).toMatchObject(refused)
      expect(await outcome(driver.execute(kept, insert, ['later']))).toMatchObject(refused)
      throw new Error('is rolled back')
    })
    .catch(() => undefined)
  expect(await lines()).toEqual(['of the handler'])
})

it('every command is refused on the instance and on a reserved connection', async () => {
  expect(await outcome(driver.execute(sql as never, insert, ['late']))).toMatchObject(refused)
  const reserved = await sql.reserve()
  expect(await outcome(driver.execute(reserved as never, insert, ['late']))).toMatchObject(refused)
  reserved.release()
  expect(await lines()).toEqual([])
})

describe('the connections of handlers', () => {
  it('share the types of arrays of the host, and close with its instance', async () => {
    const other = openSql(url, { max: 1, connection: { application_name: 'other' } })
    const own = postgresJsDriver({ sql: other, pool })
    const read = await own.transaction(async (tx) => {
      const [row] = await tx<{ list: string[] }[]>`select ${tx.array(['a', 'b'])}::text[] as list`
      return row?.list
    })
    expect(read).toEqual(['a', 'b'])
    await other.end()
    await expect
      .poll(async () => (await pool.query(`select 1 from pg_stat_activity where application_name = 'other'`)).rowCount)
      .toBe(0)
    await expect(own.transaction(async () => undefined)).rejects.toThrow('has ended')
  })

  it('are used again one after the other', async () => {
    const pid = (tx: TransactionSql) => tx<{ pid: number }[]>`select pg_backend_pid() as pid`
    const [first] = await driver.transaction(pid)
    const [second] = await driver.transaction(pid)
    expect(second).toEqual(first)
  })
})
