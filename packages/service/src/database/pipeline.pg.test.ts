import type { EventEmitter } from 'node:events'
import { findPgBouncer, startPgBouncer } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { Pool } from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type PipelineWork, runPipeline } from './pipeline.ts'
import { readLate, run, statement } from './statement.ts'

const database = await testDatabase()
const pools: Pool[] = []
const open = (options: object = {}) => {
  const pool = new Pool({ connectionString: database.url, max: 1, ...options })
  pools.push(pool)
  return pool
}
const admin = open()
const pgBouncer = await findPgBouncer()

beforeAll(() =>
  admin.query(`create table line (n int primary key, amount int not null);
    create function check_balance() returns trigger language plpgsql as $$ begin
      if (select sum(amount) from line) <> 0 then raise exception 'unbalanced' using errcode = '23514'; end if;
      return null;
    end $$;
    create constraint trigger balanced after insert on line deferrable initially deferred
      for each row execute function check_balance()`),
)
beforeEach(() => admin.query('delete from line'))
afterAll(() => Promise.all(pools.map((pool) => pool.end())))

const insert = statement('line_insert', 'insert into line values ($1, $2)')
const select = statement('line_select', 'select count(*)::int as count from line', (row) => row['count'])
const settings = statement(
  'settings',
  `select current_setting('outlay.client_id', true) as client, current_setting('lock_timeout') as lock`,
  (row) => row,
)
const client = ['outlay.client_id', 'a'] as const
const stored = async () => (await admin.query('select n from line order by n')).rows.map(({ n }) => n)

const kinds: readonly (readonly [string, Pool])[] = [
  ['a connection', open()],
  ['a connection that sends ahead', open({ pipeline: true })],
  ['a connection that cannot send two statements at once', unknownKind(open())],
]

describe.each(kinds)('a pipeline on %s', (_, pool) => {
  describe.each([true, false])('prepared: %s', (prepared) => {
    const context = { schema: 'any', prepared }
    const put =
      (n: unknown, amount: number): PipelineWork =>
      (tx) =>
        run(tx, context, insert, [n, amount])

    it('commits its statements in their order, and gives each work its rows', async () => {
      const counts: unknown[] = []
      const count: PipelineWork = async (tx) => counts.push(...(await run(tx, context, select)))
      await runPipeline(pool, [client], [count, put(1, 5), count, put(2, -5), count])
      expect(counts).toEqual([0, 1, 2])
      expect(await stored()).toEqual([1, 2])
    })

    it('writes nothing when a statement fails, and throws what its work makes of the error', async () => {
      await runPipeline(pool, [client], [put(7, 0)])
      const translated: PipelineWork = (tx) =>
        run(tx, context, insert, [7, 0]).catch((error) => {
          throw new Error(`Translated: ${error.code}`)
        })
      const others: unknown[] = []
      const other =
        (n: number): PipelineWork =>
        (tx) =>
          run(tx, context, insert, [n, 0]).catch((error) => {
            others.push(error.message)
            throw error
          })
      await expect(runPipeline(pool, [client], [other(1), translated, other(2)])).rejects.toThrow('Translated: 23505')
      expect(others).toEqual(Array(2).fill('Another statement of the transaction failed.'))
      expect(await stored()).toEqual([7])
      await runPipeline(pool, [client], [put(1, 5), put(2, -5)])
      expect(await stored()).toEqual([1, 2, 7])
    })

    it('writes nothing when the commit fails, and throws its error', async () => {
      await expect(runPipeline(pool, [client], [put(1, 5), put(2, 5)])).rejects.toMatchObject({ code: '23514' })
      expect(await stored()).toEqual([])
    })

    it('sends nothing when a value cannot be sent, and the connection goes on', async () => {
      const cyclic: { self?: unknown } = {}
      cyclic.self = cyclic
      await expect(runPipeline(pool, [client], [put(1, 0), put(cyclic, 0)])).rejects.toThrow('circular structure')
      await runPipeline(pool, [client], [put(2, 0)])
      expect(await stored()).toEqual([2])
    })

    it('reads a late value as it sends it, when it has a connection', async () => {
      let n = 0
      const held = await pool.connect()
      const done = runPipeline(
        pool,
        [client],
        [
          put(
            readLate(() => n),
            0,
          ),
        ],
      )
      // The only connection is taken, so the pipeline waits.
      while (pool.waitingCount === 0) await new Promise(setImmediate)
      n = 3
      held.release()
      await done
      expect(await stored()).toEqual([3])
    })

    it('sends nothing when a work throws, or sends no statement', async () => {
      const throwing: PipelineWork = async () => {
        throw new Error('Before.')
      }
      await expect(runPipeline(pool, [client], [put(1, 0), throwing])).rejects.toThrow('Before.')
      await expect(runPipeline(pool, [client], [put(1, 0), async () => {}])).rejects.toThrow('sends one statement')
      expect(await stored()).toEqual([])
    })

    it('refuses a second statement of a work', async () => {
      const twice: PipelineWork = async (tx) => {
        await run(tx, context, insert, [1, 0])
        await run(tx, context, insert, [2, 0])
      }
      await expect(runPipeline(pool, [client], [twice])).rejects.toThrow('sends one statement')
      expect(await stored()).toEqual([1])
    })

    it('has its settings, and leaves none behind', async () => {
      const seen: unknown[] = []
      const read: PipelineWork = async (tx) => seen.push(...(await run(tx, context, settings)))
      await runPipeline(pool, [client, ['lock_timeout', '1234']], [read, read])
      expect(seen).toEqual(Array(2).fill({ client: 'a', lock: '1234ms' }))
      expect((await pool.query(settings.text)).rows).toMatchObject([{ lock: '0' }])
      expect((await pool.query(settings.text)).rows[0].client || null).toBeNull()
    })

    it('gives up waiting for a lock in time', async () => {
      const blocker = await admin.connect()
      try {
        await blocker.query('begin; insert into line values (1, 0)')
        const waiting = runPipeline(pool, [client, ['lock_timeout', '50']], [put(2, 0), put(1, 0)])
        await expect(waiting).rejects.toMatchObject({ code: '55P03' })
      } finally {
        await blocker.query('rollback')
        blocker.release()
      }
      expect(await stored()).toEqual([])
    })

    it('can be sent again after the server refused to parse a statement', async () => {
      const late = statement('late', 'select * from late')
      const read: PipelineWork = (tx) => run(tx, context, late)
      await expect(runPipeline(pool, [client], [put(1, 0), read, put(2, 0)])).rejects.toMatchObject({ code: '42P01' })
      await admin.query('create table late (id int)')
      try {
        for (const n of [1, 2]) await runPipeline(pool, [client], [put(n, 0), read])
      } finally {
        await admin.query('drop table late')
      }
      expect(await stored()).toEqual([1, 2])
    })

    it('writes nothing when its connection ends, and the pool goes on', async () => {
      const end = statement('end', 'select pg_terminate_backend(pg_backend_pid())')
      const ending: PipelineWork = (tx) => run(tx, context, end)
      await expect(runPipeline(pool, [client], [put(1, 0), ending, put(2, 0)])).rejects.toThrow(/terminat/)
      await runPipeline(pool, [client], [put(3, 0)])
      expect(await stored()).toEqual([3])
    })
  })
})

describe('a pipeline', () => {
  const context = { schema: 'any' }
  const put =
    (n: number): PipelineWork =>
    (tx) =>
      run(tx, context, insert, [n, 0])

  it('waits for one answer of the server, and keeps its connection after a refusal', async () => {
    const pool = open()
    const connection = await pool.connect()
    let answers = 0
    const { connection: wire } = connection as unknown as { readonly connection: EventEmitter }
    wire.on('readyForQuery', () => {
      answers += 1
    })
    connection.release()
    await runPipeline(pool, [client, ['lock_timeout', '1234']], [put(1), put(2), put(3)])
    expect(answers).toBe(1)
    await expect(runPipeline(pool, [client], [put(1), put(4)])).rejects.toMatchObject({ code: '23505' })
    // The server has skipped the statement behind the one that failed, and does not know it yet.
    const count: PipelineWork = (tx) => run(tx, context, select)
    await expect(runPipeline(pool, [client], [put(1), count])).rejects.toMatchObject({ code: '23505' })
    await runPipeline(pool, [client], [put(5), count])
    expect(answers).toBe(4)
    expect(await stored()).toEqual([1, 2, 3, 5])
  })

  it.skipIf(pgBouncer === undefined)('is one transaction behind PgBouncer', async () => {
    await using bouncer = await startPgBouncer({ url: database.url, poolSize: 3 })
    const pool = new Pool({ connectionString: bouncer.url, max: 10 })
    const unnamed = { ...context, prepared: false }
    const works = (n: number): PipelineWork[] => [
      (tx) => run(tx, unnamed, insert, [n, 0]),
      (tx) => run(tx, unnamed, insert, [n % 2 === 0 ? n : n + 1_000, 0]),
    ]
    const numbers = Array.from({ length: 100 }, (_, n) => n)
    const ends = await Promise.allSettled(numbers.map((n) => runPipeline(pool, [client], works(n))))
    await pool.end()
    expect(ends.map(({ status }) => status === 'fulfilled')).toEqual(numbers.map((n) => n % 2 === 1))
    expect(await stored()).toEqual([...numbers, ...numbers.map((n) => n + 1_000)].filter((n) => n % 2 === 1))
  })
})

/** A pool whose clients are of an unknown kind. */
function unknownKind(given: Pool): Pool {
  return { connect: given.connect.bind(given), query: given.query.bind(given) } as unknown as Pool
}
