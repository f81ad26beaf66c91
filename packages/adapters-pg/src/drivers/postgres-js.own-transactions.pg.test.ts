import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import type { Sql, TransactionSql } from 'postgres'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { migrateOutbox } from '../../test/outbox.ts'
import { type OwnSocket, openOwnSocket } from '../../test/own-socket.ts'
import { openSql, type SqlOptions } from '../../test/postgres-js-subjects.ts'
import { postgresJsDriver } from './postgres-js.ts'

const { url } = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const closers: (() => unknown)[] = []
const after = (close: () => unknown) => void closers.push(close)
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** What would have ended the process. */
const broken: unknown[] = []
const note = (error: unknown) => void broken.push(error)
beforeEach(() => {
  broken.length = 0
  process.on('uncaughtException', note).on('unhandledRejection', note)
  after(() => process.off('uncaughtException', note).off('unhandledRejection', note))
})

/** A driver whose pool has room for four. */
function openBench(options: SqlOptions = {}) {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  after(() => pool.end())
  const sql = openSql(url, { max: 2, ...options })
  after(() => sql.end({ timeout: 0 }))
  const driver = postgresJsDriver({ sql, pool })
  after(() => driver.onError(() => undefined)())
  return { pool, driver }
}

/** A driver whose connections are sockets of the host's own. */
function openOwnBench(options: SqlOptions = {}) {
  const sockets: OwnSocket[] = []
  const socket = () => {
    const opened = openOwnSocket(url)
    after(() => opened.destroy())
    sockets.push(opened)
    return opened
  }
  return { ...openBench({ socket, ...options } as SqlOptions), sockets }
}

const pidOf = async (tx: TransactionSql) => (await tx<{ pid: number }[]>`select pg_backend_pid() as pid`)[0]?.pid

it('nothing is kept of a transaction that has ended', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const { driver } = openBench()
  const run = async () => {
    const work = async () => ({ events: [] })
    return [new WeakRef(await driver.transaction(work)), new WeakRef(work)]
  }
  // The first one and the last one of a connection may be kept as long as it is open.
  const pid = await driver.transaction(pidOf)
  const kept = [...(await run()), ...(await run())]
  await waitUntil(async () => {
    // It stays open.
    expect(await driver.transaction(pidOf)).toBe(pid)
    collect()
    await setImmediate()
    return kept.every((ref) => ref.deref() === undefined)
  })
})

it('no more transactions run at a time than the pool has connections, and all of them run', async () => {
  const { pool, driver } = openBench({ connection: { application_name: 'bounded' } })
  const count = async () => {
    const { rows } = await pool.query(
      `select count(*)::integer from pg_stat_activity where application_name = 'bounded'`,
    )
    return rows[0].count as number
  }
  const full = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  const outcomes = Array.from({ length: 12 }, (_, index) =>
    driver.transaction(async (tx) => {
      running += 1
      most = Math.max(most, running)
      if (running === 4) full.resolve()
      await full.promise
      await tx`select 1`
      running -= 1
      if (index % 3 === 0) throw new Error('failed')
      return index
    }),
  )
  const settled = await Promise.allSettled(outcomes)
  expect(settled.map(({ status }) => status === 'fulfilled')).toEqual(settled.map((_, index) => index % 3 !== 0))
  expect(most).toBe(4)
  expect(await count()).toBeLessThanOrEqual(4)
})

it('the connection that was free for the shortest time is taken, so that the others can close', async () => {
  const { driver } = openBench()
  const both = Promise.withResolvers<void>()
  let running = 0
  const ended: (number | undefined)[] = []
  const hold = () =>
    driver.transaction(async (tx) => {
      running += 1
      if (running === 2) both.resolve()
      await both.promise
      return pidOf(tx)
    })
  await Promise.all([hold(), hold()].map(async (transaction) => ended.push(await transaction)))
  expect(await driver.transaction(pidOf)).toBe(ended.at(-1))
  expect(await driver.transaction(pidOf)).toBe(ended.at(-1))
})

it('a late statement of a transaction that failed runs nowhere', async () => {
  const { pool, driver } = openBench()
  await pool.query('drop table if exists public.line; create table public.line (text text)')
  let late: Promise<unknown> | undefined
  const failed = Promise.withResolvers<void>()
  const transaction = driver.transaction(async (tx) => {
    late = failed.promise.then(() => tx`insert into public.line values ('late')`)
    throw new Error('One of its branches failed.')
  })
  await expect(transaction).rejects.toThrow('branches')
  failed.resolve()
  await expect(late).rejects.toThrow('This transaction has failed')
  expect((await pool.query('select text from public.line')).rows).toEqual([])
})

it('a session that ends in the packet of a row of a cursor fails the transaction only', async () => {
  const { pool, driver, sockets } = openOwnBench()
  const suspended = Buffer.from([0x73, 0, 0, 0, 4])
  const taken: unknown[] = []
  const transaction = driver.transaction(async (tx) => {
    const pid = await pidOf(tx)
    const [socket] = sockets as [OwnSocket]
    socket.hold()
    const reading = tx`select * from generate_series(1, 10) as number`.cursor(1, async (rows) => {
      taken.push(...rows)
      // What has come with the row would be read before this one has been taken.
      await setImmediate()
    })
    reading.catch(() => undefined)
    await waitUntil(() => socket.held.bytes.subarray(-5).equals(suspended))
    await pool.query('select pg_terminate_backend($1, 10000)', [pid])
    await waitUntil(() => socket.held.hasEnded)
    socket.release()
    await reading
  })
  await expect(transaction).rejects.toThrow()
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  expect(taken).toEqual([{ number: 1 }])
  expect(broken).toEqual([])
  expect(await driver.transaction(async () => 'well')).toBe('well')
})

it('a socket that the server ends, and that does not close, is lost', async () => {
  const { driver } = openOwnBench()
  const transaction = driver.transaction((tx) => tx`select pg_terminate_backend(pg_backend_pid())`)
  await expect(transaction).rejects.toThrow()
  expect(await driver.transaction(async () => 'well')).toBe('well')
})

it('a socket that the server ends before it is encrypted is lost', async () => {
  const server = createServer((client) => client.on('error', () => undefined).once('data', () => client.end()))
  after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const to = `postgres://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { driver } = openBench({ ssl: 'require', socket: () => openOwnSocket(to) } as SqlOptions)
  await expect(driver.transaction(async () => undefined)).rejects.toThrow('Postgres has closed the connection')
})

it('each notification fails while no connection for it can be opened, and the transaction goes on', async () => {
  let refuses = false
  const socket = async () => {
    if (refuses) throw new Error('The name is not to be resolved.')
    const { hostname, port } = new URL(url)
    const opened = connect(Number(port), hostname)
    await once(opened, 'connect')
    return opened
  }
  const { driver } = openBench({ socket } as SqlOptions)
  const outcome = await driver.transaction(async (tx) => {
    refuses = true
    await expect(tx.notify('news', 'first')).rejects.toThrow('not to be resolved')
    await expect(tx.notify('news', 'second')).rejects.toThrow('not to be resolved')
    refuses = false
    // The connection for notifications stays lost for this transaction.
    await expect(tx.notify('news', 'third')).rejects.toThrow('not to be resolved')
    return (await tx<{ one: number }[]>`select 1 as one`)[0]?.one
  })
  expect(outcome).toBe(1)
  await driver.transaction((tx) => tx.notify('news', 'fourth'))
})

it('a query whose cancel cannot be sent goes on, and ends no process', async () => {
  let refuses = false
  const socket = () => {
    if (refuses) throw new Error('The name is not to be resolved.')
    return openOwnSocket(url)
  }
  const { pool, driver } = openBench({ socket } as SqlOptions)
  const locker = new pg.Client(url)
  await locker.connect()
  after(() => locker.end())
  await locker.query('select pg_advisory_lock(7)')
  const outcome = await driver.transaction(async (tx) => {
    const pid = await pidOf(tx)
    const query = tx`select pg_advisory_xact_lock(7)`.execute()
    const waiting = 'select 1 from pg_locks where pid = $1 and not granted'
    await waitUntil(async () => (await pool.query(waiting, [pid])).rowCount === 1)
    refuses = true
    query.cancel()
    for (let turn = 0; turn < 10; turn += 1) await setImmediate()
    await locker.query('select pg_advisory_unlock(7)')
    await query
    return 'well'
  })
  expect(outcome).toBe('well')
  expect(broken).toEqual([])
})

it.each([undefined, null, 7])('a password %s fails a transaction, and ends no process', async (password) => {
  const { driver } = openBench({ password: async () => password } as unknown as SqlOptions)
  const failure = driver.transaction(async () => undefined)
  await expect(failure).rejects.toMatchObject({ cause: { message: 'The password is no string.' } })
  for (let turn = 0; turn < 10; turn += 1) await setImmediate()
  expect(broken).toEqual([])
})

it('a transaction that Postgres has rolled back fails, also where nobody waited for the statement that failed', async () => {
  const { driver } = openBench()
  const transaction = driver.transaction(async (tx) => {
    tx`select 1 / 0`.catch(() => undefined)
    return 'said to be committed'
  })
  await expect(transaction).rejects.toThrow('did not commit')
  expect(await driver.transaction(async (tx) => tx`select 1`.then(() => 'well'))).toBe('well')
})

it('a transaction that a handler ends in SQL fails where that rolled it back', async () => {
  const { driver } = openBench()
  const end = (text: string) => driver.transaction(async (tx) => void (await tx.unsafe(text)))
  await expect(end('rollback')).rejects.toThrow('did not commit')
  await end('commit')
})

it.each<[unknown]>([[1.0005], [Number.POSITIVE_INFINITY], [3e6], [() => 5], ['7']])(
  'a connect_timeout of %s is taken',
  async (timeout) => {
    const { driver } = openBench({ connect_timeout: timeout } as SqlOptions)
    const warnings: unknown[] = []
    const warn = (warning: Error) => void warnings.push(warning.name)
    process.on('warning', warn)
    after(() => process.off('warning', warn))
    expect(await driver.transaction(async () => 'well')).toBe('well')
    await setImmediate()
    expect(warnings).toEqual([])
  },
)

it('what is no transaction of sql.begin is refused with what to pass', async () => {
  const { pool } = openBench()
  const sql: Sql = openSql(url, { max: 1 })
  after(() => sql.end({ timeout: 0 }))
  const driver = postgresJsDriver({ sql, pool })
  const reserved = await sql.reserve()
  await reserved`begin`
  const refused = driver.execute(reserved as unknown as TransactionSql, { name: 'one', text: 'select 1' }, [])
  await expect(refused).rejects.toMatchObject({
    code: 'no_transaction',
    field: 'tx',
    message: expect.stringContaining('pass the one that `sql.begin` gives'),
  })
  await reserved`rollback`
  reserved.release()
})
