import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import type { TransactionSql } from 'postgres'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openSql } from '../../test/postgres-js-subjects.ts'
import { postgresJsDriver } from './postgres-js.ts'

const { url } = await testDatabase()
const pool = new pg.Pool({ connectionString: url, max: 3 })
const sql = openSql(url, { max: 2 })
const driver = postgresJsDriver({ sql, pool })
const insert = { name: 'insert_line', text: 'insert into line values ($1)' }
await pool.query('create table line (text text primary key)')
const file = join(tmpdir(), `outlay-${process.pid}-late.sql`)
await writeFile(file, `insert into line values ('of a file')`)
beforeEach(() => pool.query('delete from line'))
afterAll(() => Promise.all([sql.end(), pool.end()]))

const lines = async () => (await pool.query('select text from line order by text')).rows.map(({ text }) => text)

/** Ends the session of a transaction, and waits until a query in it has failed. */
const lose = (tx: TransactionSql) =>
  tx`select pg_terminate_backend(pg_backend_pid())`.then(
    () => {
      throw new Error('The session goes on.')
    },
    (error: unknown) => error,
  )

/** What ends the session of a transaction from outside. */
const killer = async (tx: TransactionSql) => {
  const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
  return () => pool.query('select pg_terminate_backend($1, 10000)', [row?.pid])
}

const passed = async (microtasks: number) => {
  for (let count = 0; count < microtasks; count += 1) await undefined
}

/** What a handler or a host does with a transaction whose connection is lost. Each of them ended the process in postgres.js alone. */
const handlers: Readonly<Record<string, (tx: TransactionSql) => Promise<unknown>>> = {
  'loses it in a savepoint': (tx) =>
    tx.savepoint(async (inner) => {
      await inner`insert into line values ('of a savepoint')`
      throw await lose(inner)
    }),
  'loses it in a savepoint in a savepoint, and goes on': async (tx) => {
    await tx.savepoint((middle) => middle.savepoint((inner) => lose(inner))).catch(() => undefined)
    await tx`insert into line values ('late')`
  },
  'goes on in the savepoint': (tx) =>
    tx.savepoint(async (inner) => {
      await lose(inner)
      await inner`insert into line values ('late')`.catch(() => undefined)
      await inner`insert into line values ('later')`
    }),
  'opens a savepoint afterwards': async (tx) => {
    await lose(tx)
    await tx.savepoint((inner) => inner`insert into line values ('late')`)
  },
  'returns as if nothing had happened': (tx) => lose(tx),
  'lets it run after the end': async (tx) => {
    await lose(tx)
    void tx`insert into line values ('late')`.execute()
  },
  'waits for a query that it made before': async (tx) => {
    const early = tx`insert into line values ('early')`
    const unsafe = tx.unsafe(`insert into line values ('unsafe')`)
    const fromFile = tx.file(file)
    await lose(tx)
    await Promise.allSettled([early, unsafe, fromFile, tx.notify('channel', 'late')])
    throw new Error('none of them was sent')
  },
  'waits for queries that were not yet sent': async (tx) => {
    const all = ['a', 'b', 'c'].map((text) => tx`insert into line values (${text})`)
    await Promise.allSettled([lose(tx), ...all])
    throw new Error('each of them has ended')
  },
  'gives it to the engine': async (tx) => {
    await lose(tx)
    await driver.execute(tx, insert, ['late']).catch((error: { code: string }) => {
      if (error.code !== 'no_transaction') throw error
    })
    await driver.execute(tx, insert, ['later'])
  },
  'reads the next rows of a cursor': async (tx) => {
    const end = await killer(tx)
    const behind: Promise<unknown>[] = []
    for await (const _ of tx`select * from generate_series(1, 10)`.cursor(1)) {
      behind.push(tx`select 1`.catch(() => undefined))
      await end()
      await Promise.all(behind)
    }
    await tx`insert into line values ('late')`
  },
  'takes the rows of a cursor one by one': async (tx) => {
    const end = await killer(tx)
    const behind: Promise<unknown>[] = []
    await tx`select * from generate_series(1, 10)`.cursor(1, async () => {
      behind.push(tx`select 1`.catch(() => undefined))
      await end()
      await Promise.all(behind)
    })
  },
  'loses it while it is idle': async (tx) => {
    const end = await killer(tx)
    await end()
    await tx`insert into line values ('late')`
  },
  ...Object.fromEntries(
    [0, 1, 2, 3, 5, 8].map((microtasks) => [
      `catches the failure and sends the next ${microtasks} microtasks later`,
      async (tx: TransactionSql) => {
        const failed = tx`select pg_terminate_backend(pg_backend_pid())`.catch(() => undefined)
        await failed
        await passed(microtasks)
        await tx`insert into line values ('late')`.catch(() => undefined)
        await tx`insert into line values ('later')`
      },
    ]),
  ),
}

/** The transactions that the driver guards. */
const openers = {
  handler: (work: (tx: TransactionSql) => Promise<unknown>) => driver.transaction(work),
  // An instance of its own each time: postgres.js may never write again on a connection that was lost while it had something to write.
  host: async (work: (tx: TransactionSql) => Promise<unknown>) => {
    const own = openSql(url, { max: 1 })
    postgresJsDriver({ sql: own, pool })
    return own.begin(work).finally(() => own.end({ timeout: 0 }))
  },
}

describe.each(Object.entries(handlers))('a transaction that %s', (_, handle) => {
  it.each(Object.entries(openers))(
    'of a %s fails, writes nothing and leaves the process and the driver whole',
    async (_, open) => {
      const broken: unknown[] = []
      const note = (error: unknown) => void broken.push(error)
      process.on('uncaughtException', note).on('unhandledRejection', note)
      try {
        const transaction = open(async (tx) => {
          await tx`insert into line values ('early in it')`
          await handle(tx)
        })
        await expect(transaction).rejects.toThrow()
        // A write on a lost connection would come in the next turn of the event loop.
        for (let turn = 0; turn < 10; turn += 1) await setImmediate()
        expect(await lines()).toEqual([])
        await driver.transaction((tx) => driver.execute(tx, insert, ['well']))
        await sql.begin((tx) => driver.execute(tx, insert, ['well too']))
        expect(await lines()).toEqual(['well', 'well too'])
        expect(broken).toEqual([])
      } finally {
        process.off('uncaughtException', note).off('unhandledRejection', note)
      }
    },
  )
})
