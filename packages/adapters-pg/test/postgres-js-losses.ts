import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import type { TransactionSql } from 'postgres'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { Driver } from '../src/database/driver.ts'
import { postgresJsDriver } from '../src/drivers/postgres-js.ts'
import { openSql } from './postgres-js-subjects.ts'

/** What the handlers of these tests use. */
interface Bench {
  readonly driver: Driver<TransactionSql>
  readonly pool: pg.Pool
  /** A file of SQL. */
  readonly file: string
}

const insert = { name: 'insert_line', text: 'insert into line values ($1)' }

/** Ends the session of a transaction, and waits until a query in it has failed. */
const lose = (tx: TransactionSql) =>
  tx`select pg_terminate_backend(pg_backend_pid())`.then(
    () => {
      throw new Error('The session goes on.')
    },
    (error: unknown) => error,
  )

/** What ends the session of a transaction from outside. */
const killer = async (tx: TransactionSql, pool: pg.Pool) => {
  const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`
  return () => pool.query('select pg_terminate_backend($1, 10000)', [row?.pid])
}

const passed = async (microtasks: number) => {
  for (let count = 0; count < microtasks; count += 1) await undefined
}

type Handlers = Readonly<Record<string, (tx: TransactionSql) => Promise<unknown>>>

/** What a handler does with a transaction whose connection is lost. Most of them end the process in postgres.js alone. */
const handlersOf = ({ driver, pool, file }: Bench): Handlers => ({
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
    await driver.execute(tx, insert, ['late']).catch(() => undefined)
    await driver.execute(tx, insert, ['later'])
  },
  'loses it while it is idle': async (tx) => {
    const end = await killer(tx, pool)
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
})

/** What else it does: cursors and copies are no single queries. */
const streamsOf = ({ pool }: Bench): Handlers => ({
  'reads the next rows of a cursor': async (tx) => {
    const end = await killer(tx, pool)
    for await (const _ of tx`select * from generate_series(1, 10)`.cursor(1)) await end()
    await tx`insert into line values ('late')`
  },
  'takes the rows of a cursor one by one': async (tx) => {
    const end = await killer(tx, pool)
    await tx`select * from generate_series(1, 10)`.cursor(1, async () => {
      await end()
      // The loss is noticed while the cursor waits for this.
      await setImmediate()
    })
  },
  'fails in the rows of a cursor': async (tx) => {
    const end = await killer(tx, pool)
    await tx`select * from generate_series(1, 10)`.cursor(1, async () => {
      await end()
      throw Object.assign(new Error('connect ECONNREFUSED'), { errno: -111 })
    })
  },
  'copies into a table': async (tx) => {
    const end = await killer(tx, pool)
    const copying = await tx`copy line from stdin`.writable()
    const failed = once(copying, 'error')
    copying.write('copied\\n')
    await end()
    await failed
    await tx`insert into line values ('late')`
  },
})

/** Registers the tests of handlers that lose their connection. */
export function describeLosses(name: string): void {
  describe(`a handler on ${name}`, async () => {
    const { url } = await testDatabase()
    const pool = new pg.Pool({ connectionString: url, max: 3 })
    const sql = openSql(url, { max: 2 })
    const driver = postgresJsDriver({ sql, pool })
    const folder = await mkdtemp(join(tmpdir(), 'outlay-losses-'))
    const file = join(folder, 'line.sql')
    await writeFile(file, `insert into line values ('of a file')`)
    await pool.query('create table line (text text primary key)')
    beforeEach(() => pool.query('delete from line'))
    afterAll(async () => {
      // As at the end of an engine.
      driver.onError(() => undefined)()
      await Promise.all([sql.end(), pool.end(), rm(folder, { recursive: true })])
    })
    const lines = async () => (await pool.query('select text from line order by text')).rows.map(({ text }) => text)

    const bench = { driver, pool, file }
    it.each(Object.entries({ ...handlersOf(bench), ...streamsOf(bench) }))(
      'that %s fails, writes nothing and leaves the process and the driver whole',
      async (_, handle) => {
        const broken: unknown[] = []
        const note = (error: unknown) => void broken.push(error)
        process.on('uncaughtException', note).on('unhandledRejection', note)
        try {
          const transaction = driver.transaction(async (tx) => {
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
}
