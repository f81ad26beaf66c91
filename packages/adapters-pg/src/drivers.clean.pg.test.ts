import { testDatabase } from '@outlay/testing/vitest'
import { drizzle } from 'drizzle-orm/node-postgres'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { mikroOrms, openMikroOrm } from '../test/mikro-orm-subject.ts'
import { openNeonPool } from '../test/neon-subject.ts'
import { openSql } from '../test/postgres-js-subjects.ts'
import { openPrisma } from '../test/prisma-client.ts'
import { openSequelize } from '../test/sequelize-subject.ts'
import { openDataSource } from '../test/typeorm-subject.ts'
import type { Driver } from './database/driver.ts'
import { hasSqlState } from './database/lock-timeout.ts'
import { drizzleDriver } from './drivers/drizzle.ts'
import { knexDriver } from './drivers/knex.ts'
import { kyselyDriver } from './drivers/kysely.ts'
import { mikroOrmDriver } from './drivers/mikro-orm.ts'
import { neonDriver } from './drivers/neon.ts'
import { pgDriver } from './drivers/pg.ts'
import { postgresJsDriver } from './drivers/postgres-js.ts'
import { prismaDriver } from './drivers/prisma.ts'
import { sequelizeDriver } from './drivers/sequelize.ts'
import { typeormDriver } from './drivers/typeorm.ts'

/** A driver on a pool of one connection, and the host's own way to that. */
interface Subject {
  readonly driver: Driver<never>
  host(text: string): Promise<readonly Record<string, unknown>[]>
  close(): Promise<unknown>
}

const openers: Readonly<Record<string, (url: string) => Subject | Promise<Subject>>> = {
  pg: (url) => onPool(url, (pool) => pgDriver(pool)),
  drizzle: (url) => onPool(url, (pool) => drizzleDriver(drizzle({ client: pool }))),
  kysely: (url) =>
    onPool(url, (pool) => kyselyDriver({ db: new Kysely({ dialect: new PostgresDialect({ pool }) }), pool })),
  prisma: (url) => onPool(url, (pool) => prismaDriver({ prisma: openPrisma(pool), pool })),
  'postgres.js': (url) => {
    const sql = openSql(url, { max: 1 })
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    return {
      driver: postgresJsDriver({ sql, pool }) as unknown as Driver<never>,
      host: (text) => sql.unsafe(text),
      close: () => Promise.all([sql.end(), pool.end()]),
    }
  },
  async neon(url) {
    const pool = await openNeonPool(url, undefined, 1)
    return {
      driver: neonDriver(pool) as unknown as Driver<never>,
      host: async (text) => (await pool.query(text)).rows,
      close: () => pool.end(),
    }
  },
  sequelize(url) {
    const sequelize = openSequelize(url, { max: 1 })
    const pool = new pg.Pool({ connectionString: url, max: 1 })
    return {
      driver: sequelizeDriver({ sequelize, pool }) as unknown as Driver<never>,
      host: async (text) => (await sequelize.query(text))[0] as Record<string, unknown>[],
      close: () => Promise.all([sequelize.close(), pool.end()]),
    }
  },
  async typeorm(url) {
    const dataSource = await openDataSource(url, { max: 1 })
    return {
      driver: typeormDriver(dataSource) as unknown as Driver<never>,
      host: (text) => dataSource.query(text),
      close: () => dataSource.destroy(),
    }
  },
  'MikroORM 6': (url) => onMikroOrm(url, mikroOrms['MikroORM 6']),
  'MikroORM 7': (url) => onMikroOrm(url),
  knex(url) {
    const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 1 } })
    return {
      driver: knexDriver(db) as unknown as Driver<never>,
      host: async (text) => (await db.raw(text)).rows,
      close: () => db.destroy(),
    }
  },
}

/** A driver on MikroORM, whose own connection shows what transactions leave. */
async function onMikroOrm(url: string, library?: (typeof mikroOrms)[string]): Promise<Subject> {
  const orm = await openMikroOrm(url, { max: 1, library })
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  return {
    driver: mikroOrmDriver({ orm, pool }) as unknown as Driver<never>,
    host: (text) => orm.em.getConnection().execute(text),
    close: () => Promise.all([orm.close(), pool.end()]),
  }
}

function onPool<Tx>(url: string, open: (pool: pg.Pool) => Driver<Tx>): Subject {
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  return {
    driver: open(pool) as unknown as Driver<never>,
    host: async (text) => (await pool.query(text)).rows,
    close: () => pool.end(),
  }
}

const broken = { name: 'broken', text: 'select 1 / $1::integer as one' }
const mess = `set lock_timeout = '7s'; create temp table leftover (); listen leftover; select pg_advisory_lock(7);`

/** Calls that fail, each in another way. */
const failures: Readonly<Record<string, (driver: Driver<never>) => Promise<unknown>>> = {
  query: (driver) => driver.query(broken, [0]),
  'run of one statement': (driver) => driver.run('select 1 / 0'),
  'run of statements in a transaction, as the supervision of the queue is': (driver) =>
    driver.run(`begin; ${mess} select 1 / 0; commit`),
  'run of statements that leave something in the session': (driver) => driver.run(`${mess} commit; select 1 / 0`),
  'execute in a transaction': (driver) => driver.transaction((tx) => driver.execute(tx, broken, [0])),
  'transaction whose work throws': (driver) =>
    driver.transaction(async (tx) => {
      await driver.execute(tx, { name: 'mess', text: `select set_config('lock_timeout', '7s', false)` }, [])
      throw new Error('changed my mind')
    }),
  'session in a transaction': (driver) =>
    driver.session(async (session) => {
      await session.query('begin')
      await session.query(mess)
      throw new Error('changed my mind')
    }),
  'session that leaves something': (driver) =>
    driver.session(async (session) => {
      await session.query(mess)
      await session.query('select 1 / 0')
    }),
}

describe.each(Object.keys(openers))('the driver for %s', async (name) => {
  const { url } = await testDatabase()

  it.each(Object.keys(failures))('leaves the connection of a pool of one clean after a failed %s', async (kind) => {
    const subject = await openers[name]?.(url)
    if (subject === undefined) throw new Error(`There is no driver ${name}.`)
    try {
      await expect(failures[kind]?.(subject.driver)).rejects.toThrow()
      // The second would see that the first began a transaction, or that it was in one.
      await subject.host('select 1')
      const left = await subject.host(
        `select now() = statement_timestamp() as alone, current_setting('lock_timeout') as lock_timeout,
           to_regclass('pg_temp.leftover')::text as leftover, (select count(*)::integer from pg_listening_channels()) as channels,
           (select count(*)::integer from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks`,
      )
      expect(left).toEqual([{ alone: true, lock_timeout: '0', leftover: null, channels: 0, locks: 0 }])
      expect(await subject.driver.query({ name: 'one', text: 'select $1::integer as one' }, [1])).toEqual([{ one: 1 }])
      // And none is held elsewhere by an unused connection.
      await expect.poll(() => subject.host('select pg_try_advisory_lock(7) as free')).toEqual([{ free: true }])
    } finally {
      await subject.close()
    }
  })

  it.each(['query', 'execute in a transaction'])('says with which SQLSTATE a %s failed', async (kind) => {
    const subject = await openers[name]?.(url)
    if (subject === undefined) throw new Error(`There is no driver ${name}.`)
    try {
      const error = await failures[kind]?.(subject.driver).catch((thrown: unknown) => thrown)
      expect(hasSqlState(error, /^22012$/), String(error)).toBe(true)
    } finally {
      await subject.close()
    }
  })
})
