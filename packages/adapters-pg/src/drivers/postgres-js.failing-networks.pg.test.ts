import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { createEngine } from '@outlay/core'
import { memoryGateway, waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import type { Sql } from 'postgres'
import { afterEach, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { openSql, type SqlOptions } from '../../test/postgres-js-subjects.ts'
import { openTcpProxy } from '../../test/tcp-proxy.ts'
import { postgres } from '../backend.ts'
import { postgresJsDriver } from './postgres-js.ts'

const { url } = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const insert = { name: 'insert_line', text: 'insert into public.line values ($1)' }
const closers: (() => unknown)[] = []
const after = (close: () => unknown) => void closers.push(close)
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A driver on instances of a host, and a pool beside the network under test. */
async function openBench(to: string, options: SqlOptions = {}) {
  const pool = new pg.Pool({ connectionString: url, max: 4 })
  after(() => pool.end())
  await pool.query('drop table if exists public.line; create table public.line (text text)')
  const sql = openSql(to, { max: 2, ...options })
  after(() => sql.end({ timeout: 0 }))
  const driver = postgresJsDriver({ sql, pool })
  after(() => driver.onError(() => undefined)())
  const lines = async () => (await pool.query('select text from public.line')).rows.map(({ text }) => text)
  return { pool, sql, driver, lines }
}

async function openProxy(greet?: (client: Socket) => Promise<Socket>) {
  const proxy = await openTcpProxy(url, greet)
  after(proxy.close)
  return proxy
}

it('a proxy that closes every connection fails a transaction after one try', async () => {
  const proxy = await openProxy()
  const { driver } = await openBench(proxy.url)
  proxy.mode = 'closes'
  await expect(driver.transaction(async () => undefined)).rejects.toThrow('closed')
  expect(proxy.connections).toBe(1)
  proxy.mode = 'passes'
  expect(await driver.transaction(async () => 'well')).toBe('well')
})

it('a server that never answers does not hold up a begin', async () => {
  const silent = createServer((client) => client.on('error', () => undefined).resume()).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  after(() => silent.close())
  const to = new URL(url)
  to.port = String((silent.address() as { port: number }).port)
  const { driver } = await openBench(to.href, { connect_timeout: 0.1 })
  await expect(driver.transaction(async () => undefined)).rejects.toThrow(
    'did not begin or end a transaction in 100 ms',
  )
})

it('a begin to which no answer comes on a connection that was used before fails too', async () => {
  const proxy = await openProxy()
  const { driver } = await openBench(proxy.url, { connect_timeout: 0.5 })
  await driver.transaction(async () => undefined)
  proxy.mode = 'keeps answers'
  await expect(driver.transaction(async () => undefined)).rejects.toThrow('did not begin or end')
  expect(proxy.connections).toBe(1)
})

it('a commit whose answer is lost fails, whatever has become of it', async () => {
  const proxy = await openProxy()
  const { driver, lines } = await openBench(proxy.url, { connect_timeout: 0.5 })
  const transaction = driver.transaction(async (tx) => {
    await driver.execute(tx, insert, ['committed'])
    proxy.mode = 'keeps answers'
  })
  await expect(transaction).rejects.toThrow('did not begin or end')
  await waitUntil(async () => (await lines()).length === 1)
})

it('what a handler threw is not hidden by the loss that follows', async () => {
  const proxy = await openProxy()
  const { driver } = await openBench(proxy.url)
  const transaction = driver.transaction(async (tx) => {
    await tx`select 1`
    proxy.end()
    throw new Error('changed my mind')
  })
  await expect(transaction).rejects.toThrow('changed my mind')
})

it('an engine stops while every connection of its handlers is closed', async () => {
  const proxy = await openProxy()
  const { sql, driver } = await openBench(proxy.url)
  const engine = createEngine({ backend: postgres({ driver }), gateway: memoryGateway() })
  let handled = 0
  engine.subscribe('books', ['transfer.enqueued'], async (_, tx) => {
    await tx`insert into public.line values ('handled')`
    handled += 1
  })
  await engine.start()
  await sql.begin((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
  await waitUntil(() => handled > 0)
  proxy.mode = 'closes'
  const before = proxy.connections
  proxy.end()
  await waitUntil(() => proxy.connections > before)
  await engine.stop()
})

it('the connections of handlers close with the engine, and let the host close its own', async () => {
  const { pool, sql, driver } = await openBench(url, { connection: { application_name: 'handlers' } })
  const open = async () =>
    (await pool.query(`select 1 from pg_stat_activity where application_name = 'handlers'`)).rowCount
  const off = driver.onError(() => undefined)
  const pid = (tx: Sql) => tx<{ pid: number }[]>`select pg_backend_pid() as pid`
  const [first] = await driver.transaction((tx) => pid(tx as unknown as Sql))
  expect(await driver.transaction((tx) => pid(tx as unknown as Sql))).toEqual([first])
  await sql.end()
  expect(await open()).toBe(1)
  off()
  await waitUntil(async () => (await open()) === 0)
})

it('the next of several hosts is tried', async () => {
  const dead = createServer().listen(0, '127.0.0.1')
  await once(dead, 'listening')
  const { port } = dead.address() as { port: number }
  dead.close()
  await once(dead, 'close')
  const to = new URL(url)
  const { driver, lines } = await openBench(url, {
    host: ['127.0.0.1', to.hostname],
    port: [port, Number(to.port)],
  } as object)
  await driver.transaction((tx) => driver.execute(tx, insert, ['well']))
  expect(await lines()).toEqual(['well'])
})

it('a password that is not to be had fails a transaction', async () => {
  const { driver } = await openBench(url, {
    password: () => Promise.reject(new Error('The vault is closed.')),
  } as SqlOptions)
  await expect(driver.transaction(async () => undefined)).rejects.toMatchObject({
    cause: { message: 'The vault is closed.' },
  })
})

// A key that both have makes certificates unnecessary.
const key = Buffer.from('0123456789abcdef0123456789abcdef', 'hex')
const ssl = {
  ciphers: 'PSK',
  maxVersion: 'TLSv1.2',
  pskCallback: () => ({ psk: key, identity: 'host' }),
  checkServerIdentity: () => undefined,
}

it('an encrypted connection is asked for as the settings say', async () => {
  const proxy = await openProxy(async (client) => {
    await once(client, 'data')
    client.write('S')
    const options = { isServer: true, ciphers: 'PSK', maxVersion: 'TLSv1.2', pskCallback: () => key } as const
    return new TLSSocket(client, options)
  })
  const { driver, lines } = await openBench(proxy.url, { ssl })
  await driver.transaction((tx) => driver.execute(tx, insert, ['encrypted']))
  expect(await lines()).toEqual(['encrypted'])
  proxy.end()
  await driver.transaction((tx) => driver.execute(tx, insert, ['again'])).catch(() => undefined)
  await driver.transaction((tx) => driver.execute(tx, insert, ['again']))
})

it.each([
  ['require', 'refused'],
  ['prefer', 'well'],
] as const)('a server without encryption is %s', async (mode, expected) => {
  const { driver } = await openBench(url, { ssl: mode })
  const outcome = driver
    .transaction(async () => 'well')
    .catch((error: Error) => {
      expect(error.message).toContain('does not take an encrypted connection')
      return 'refused'
    })
  expect(await outcome).toBe(expected)
})

it('neither the instance of the host nor what it has learned is changed', async () => {
  const { sql, driver } = await openBench(url)
  await sql`select 1`
  const options = sql.options as unknown as Record<string, object>
  const parts = ['parsers', 'serializers', 'parameters', 'shared']
  const seen = () => [{ ...sql }, { ...options }, ...parts.map((part) => ({ ...options[part] }))]
  const before = seen()
  await driver.transaction(async (tx) => {
    const [row] = await tx<{ list: string[] }[]>`select ${tx.array(['a', 'b'])}::text[] as list`
    expect(row?.list).toEqual(['a', 'b'])
  })
  await sql.begin((tx) => driver.execute(tx, insert, ['well']))
  for (const [index, part] of seen().entries()) expect(part).toEqual(before[index])
})

it('a notification of a handler is sent, awaited or not', async () => {
  const { driver } = await openBench(url)
  const listener = new pg.Client(url)
  await listener.connect()
  after(() => listener.end())
  await listener.query('listen news')
  const received: unknown[] = []
  listener.on('notification', ({ payload }) => received.push(payload))
  await driver.transaction(async (tx) => {
    await tx.notify('news', 'awaited')
    void tx.notify('news', 'not awaited')
    await tx`select 1`
  })
  await waitUntil(() => received.length === 2)
  expect(received).toEqual(['awaited', 'not awaited'])
})

it('a notification beside a transaction, whose connection never becomes ready, fails and leaves the transaction whole', async () => {
  const proxy = await openProxy()
  const { driver, lines } = await openBench(proxy.url, { connect_timeout: 0.5 })
  await driver.transaction(async (tx) => {
    await driver.execute(tx, insert, ['before'])
    proxy.mode = 'keeps answers'
    const failed = expect(tx.notify('news', 'unheard')).rejects.toThrow('did not begin a session beside')
    await waitUntil(() => proxy.connections === 2)
    await failed
    proxy.mode = 'passes'
    await driver.execute(tx, insert, ['after'])
  })
  expect(await lines()).toEqual(['before', 'after'])
  expect(await driver.transaction(async () => 'well')).toBe('well')
})

it('a query that a handler cancels in a savepoint leaves its transaction whole', async () => {
  const { pool, driver, lines } = await openBench(url)
  const sleeping = `select 1 from pg_stat_activity where pid = $1 and state = 'active' and query like '%pg_sleep%'`
  for (const text of ['first', 'second']) {
    await driver.transaction(async (tx) => {
      const canceled = tx.savepoint(async (inner) => {
        const [row] = await inner<{ pid: number }[]>`select pg_backend_pid() as pid`
        const query = inner`select pg_sleep(100)`.execute()
        await waitUntil(async () => (await pool.query(sleeping, [row?.pid])).rowCount === 1)
        query.cancel()
        await query
      })
      await expect(canceled).rejects.toMatchObject({ code: '57014' })
      await driver.execute(tx, insert, [text])
    })
  }
  expect(await lines()).toEqual(['first', 'second'])
})

it('what a callback of a handler throws is not taken for a lost connection', async () => {
  const { driver } = await openBench(url)
  const thrown = Object.assign(new Error('Duplicate entry'), { errno: 1062, code: 'ER_DUP_ENTRY' })
  const transaction = driver.transaction((tx) =>
    tx`select * from generate_series(1, 3)`.cursor(1, () => Promise.reject(thrown)),
  )
  await expect(transaction).rejects.toBe(thrown)
  expect(await driver.transaction(async () => 'well')).toBe('well')
})
