import { createEngine, type Engine, Id } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { drizzle as drizzleOnNeon } from 'drizzle-orm/neon-serverless'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnSql } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { QueryRunner } from 'typeorm'
import { afterAll, describe, expect, it } from 'vitest'
import { mikroOrms, openMikroOrm } from '../test/mikro-orm-subject.ts'
import { openNeonPool } from '../test/neon-subject.ts'
import { migrateOutbox, samplePayout } from '../test/outbox.ts'
import { openSql } from '../test/postgres-js-subjects.ts'
import { openPrisma } from '../test/prisma-client.ts'
import { openSequelize } from '../test/sequelize-subject.ts'
import { openDataSource } from '../test/typeorm-subject.ts'
import { postgres } from './backend.ts'
import type { Driver } from './database/driver.ts'
import { drizzleDriver } from './drivers/drizzle.ts'
import { drizzleNeonDriver } from './drivers/drizzle-neon.ts'
import { drizzlePostgresJsDriver } from './drivers/drizzle-postgres-js.ts'
import { knexDriver } from './drivers/knex.ts'
import { kyselyDriver } from './drivers/kysely.ts'
import { mikroOrmDriver } from './drivers/mikro-orm.ts'
import { neonDriver } from './drivers/neon.ts'
import { pgDriver } from './drivers/pg.ts'
import { postgresJsDriver } from './drivers/postgres-js.ts'
import { prismaDriver } from './drivers/prisma.ts'
import { sequelizeDriver } from './drivers/sequelize.ts'
import { typeormDriver } from './drivers/typeorm.ts'

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url, max: 5 })
const db = drizzle({ client: pool })
const kysely = new Kysely({ dialect: new PostgresDialect({ pool }) })
const knexRoot = knex({ client: 'pg', connection: database.url, pool: { min: 0, max: 2 } })
const prisma = openPrisma(pool)
const sql = openSql(database.url, { max: 2 })
const sqlDb = drizzleOnSql({ client: sql })
const neonPool = await openNeonPool(database.url, undefined, 2)
const neonDb = drizzleOnNeon({ client: neonPool })
const sequelize = openSequelize(database.url, { max: 2 })
const dataSource = await openDataSource(database.url, { max: 2 })
const mikroOrm6 = await openMikroOrm(database.url, { max: 2, library: mikroOrms['MikroORM 6'] })
const mikroOrm7 = await openMikroOrm(database.url, { max: 2 })
afterAll(async () => {
  await mikroOrm7.close()
  await mikroOrm6.close()
  await dataSource.destroy()
  await sequelize.close()
  await sql.end()
  await neonPool.end()
  await prisma.$disconnect()
  await knexRoot.destroy()
  await pool.end()
})

const rows = async () => {
  const tables = ['transfer', 'stop', 'watched_account', 'account']
  const counts = await Promise.all(tables.map((table) => pool.query(`select 1 from outlay.${table}`)))
  return counts.map(({ rowCount }) => rowCount)
}

/** What compiles nowhere, or what only a running program can know. */
const engineOn = (driver: unknown) =>
  createEngine({ backend: postgres({ driver: driver as Driver<unknown> }), gateway: memoryGateway() })

const withClient = async <T>(work: (client: pg.PoolClient) => Promise<T>) => {
  const client = await pool.connect()
  try {
    return await work(client)
  } finally {
    client.release()
  }
}

const withRunner = async <T>(work: (runner: QueryRunner) => Promise<T>) => {
  const runner = dataSource.createQueryRunner()
  try {
    return await work(runner)
  } finally {
    await runner.release()
  }
}

/** A client as of a node-postgres that does not know whether it is in a transaction. */
const older = (client: pg.PoolClient) =>
  ({ query: client.query.bind(client) as pg.PoolClient['query'] }) as pg.PoolClient

type Work = (tx: unknown) => Promise<unknown>

type Closed = Readonly<Record<string, readonly [driver: unknown, run: (work: Work) => Promise<unknown>]>>

/** Those of a release of MikroORM. */
const closedIn = (name: string, orm: typeof mikroOrm7): Closed => ({
  [`the root of ${name}`]: [mikroOrmDriver({ orm, pool }), (work) => work(orm.em)],
  [`a fork of ${name}`]: [mikroOrmDriver({ orm, pool }), (work) => work(orm.em.fork())],
  [`what is no entity manager of ${name}`]: [mikroOrmDriver({ orm, pool }), (work) => work(orm)],
  [`an entity manager of ${name} after its transaction`]: [
    mikroOrmDriver({ orm, pool }),
    async (work) => work(await orm.em.fork().transactional(async (tx) => tx)),
  ],
  [`a transaction of ${name} after a commit in SQL`]: [
    mikroOrmDriver({ orm, pool }),
    (work) =>
      orm.em.fork().transactional(async (tx) => {
        await tx.getConnection().execute('commit', [], 'run', tx.getTransactionContext())
        return work(tx)
      }),
  ],
})

/** Handles without a transaction, and a driver for each. */
const closed: Closed = {
  ...closedIn('MikroORM 6', mikroOrm6),
  ...closedIn('MikroORM 7', mikroOrm7),
  'a client of pg': [pgDriver(pool), (work) => withClient(work)],
  'a client of pg after its commit': [
    pgDriver(pool),
    (work) =>
      withClient(async (client) => {
        await client.query('begin')
        await client.query('commit')
        return work(client)
      }),
  ],
  'a client of an older pg': [pgDriver(pool), (work) => withClient((client) => work(older(client)))],
  'a pool of pg': [pgDriver(pool), (work) => work(pool)],
  'a database of Drizzle in place of a client of pg': [pgDriver(pool), (work) => work(db)],
  'the database of Drizzle': [drizzleDriver(db), (work) => work(db)],
  'a client in Drizzle': [drizzleDriver(db), (work) => withClient((client) => work(drizzle({ client })))],
  'the database of Kysely': [kyselyDriver({ db: kysely, pool }), (work) => work(kysely)],
  'a connection of Kysely': [
    kyselyDriver({ db: kysely, pool }),
    (work) => kysely.connection().execute((connection) => work(connection)),
  ],
  Knex: [knexDriver(knexRoot), (work) => work(knexRoot)],
  'a transaction of Knex that has ended': [
    knexDriver(knexRoot),
    async (work) => {
      const tx = await knexRoot.transaction()
      await tx.commit()
      return work(tx)
    },
  ],
  'a transaction of Knex after a commit in SQL': [
    knexDriver(knexRoot),
    async (work) => {
      const tx = await knexRoot.transaction()
      await tx.raw('commit')
      return work(tx).finally(() => tx.rollback())
    },
  ],
  'the client of Prisma': [prismaDriver({ prisma, pool }), (work) => work(prisma)],
  'an instance of postgres.js': [postgresJsDriver({ sql, pool }), (work) => work(sql)],
  'a reserved connection of postgres.js': [
    postgresJsDriver({ sql, pool }),
    async (work) => {
      const reserved = await sql.reserve()
      return work(reserved).finally(() => reserved.release())
    },
  ],
  'a transaction of postgres.js that has ended': [
    postgresJsDriver({ sql, pool }),
    async (work) => work((await sql.begin(async (tx) => ({ tx }))).tx),
  ],
  'a transaction of postgres.js after a commit in SQL': [
    postgresJsDriver({ sql, pool }),
    (work) =>
      sql.begin(async (tx) => {
        await tx`commit`
        await work(tx)
      }),
  ],
  'the database of Drizzle over postgres.js': [drizzlePostgresJsDriver({ db: sqlDb, pool }), (work) => work(sqlDb)],
  'a transaction of Drizzle over postgres.js that has ended': [
    drizzlePostgresJsDriver({ db: sqlDb, pool }),
    async (work) => work((await sqlDb.transaction(async (tx) => ({ tx }))).tx),
  ],
  'the pool of Neon': [neonDriver(neonPool), (work) => work(neonPool)],
  'a client of Neon on which no begin has run': [
    neonDriver(neonPool),
    async (work) => {
      const client = await neonPool.connect()
      return work(client).finally(() => client.release())
    },
  ],
  'a client of Neon after a commit': [
    neonDriver(neonPool),
    async (work) => {
      const client = await neonPool.connect()
      await client.query('begin; commit')
      return work(client).finally(() => client.release())
    },
  ],
  'the database of Drizzle over the pool of Neon': [drizzleNeonDriver(neonDb), (work) => work(neonDb)],
  'a transaction of Drizzle over the pool of Neon that has ended': [
    drizzleNeonDriver(neonDb),
    async (work) => work((await neonDb.transaction(async (tx) => ({ tx }))).tx),
  ],
  'Sequelize itself': [sequelizeDriver({ sequelize, pool }), (work) => work(sequelize)],
  'a transaction of Sequelize that has ended': [
    sequelizeDriver({ sequelize, pool }),
    async (work) => work(await sequelize.transaction(async (tx) => tx)),
  ],
  'a transaction of Sequelize after a commit in SQL': [
    sequelizeDriver({ sequelize, pool }),
    (work) =>
      sequelize.transaction(async (tx) => {
        await sequelize.query('commit', { transaction: tx })
        return work(tx)
      }),
  ],
  'the manager of TypeORM': [typeormDriver(dataSource), (work) => work(dataSource.manager)],
  'a query runner of TypeORM': [typeormDriver(dataSource), (work) => withRunner((runner) => work(runner.manager))],
  'a query runner of TypeORM that is connected': [
    typeormDriver(dataSource),
    (work) =>
      withRunner(async (runner) => {
        await runner.connect()
        return work(runner.manager)
      }),
  ],
  'a query runner of TypeORM after its commit': [
    typeormDriver(dataSource),
    (work) =>
      withRunner(async (runner) => {
        await runner.startTransaction()
        await runner.commitTransaction()
        return work(runner.manager)
      }),
  ],
  'a query runner of TypeORM that was released': [
    typeormDriver(dataSource),
    async (work) => work(await dataSource.transaction(async (tx) => tx)),
  ],
  'a transaction of TypeORM after a commit in SQL': [
    typeormDriver(dataSource),
    (work) =>
      dataSource.transaction(async (tx) => {
        await tx.query('commit')
        return work(tx)
      }),
  ],
}

const id = Id.lowest(new Date())
const note = { actor: 'ada', reason: 'a drill' }

/** Every command on the host's transaction. */
const commands: Readonly<Record<string, (engine: Engine<unknown>, tx: unknown) => Promise<unknown>>> = {
  enqueue: ({ transfers }, tx) => transfers.enqueue(tx, samplePayout('acme')),
  enqueueMany: ({ transfers }, tx) => transfers.enqueueMany(tx, [samplePayout('acme'), samplePayout('acme')]),
  release: ({ transfers }, tx) => transfers.release(tx, id),
  cancel: ({ transfers }, tx) => transfers.cancel(tx, id),
  resolve: ({ transfers }, tx) => transfers.resolve(tx, id, { notPaid: true, ...note }),
  resolveReturn: ({ transfers }, tx) => transfers.resolveReturn(tx, id, { identity: 'r', dismissed: true, ...note }),
  resubmit: ({ transfers }, tx) => transfers.resubmit(tx, id),
  observe: ({ transfers }, tx) => transfers.observe(tx, 'acme', [{ remoteId: 'r', status: 'complete', failure: null }]),
  fundsArrived: ({ accounts }, tx) => accounts.fundsArrived(tx, 'acme'),
  pause: ({ accounts }, tx) => accounts.pause(tx, 'acme'),
  resume: ({ accounts }, tx) => accounts.resume(tx, 'acme'),
  retryCredentials: ({ accounts }, tx) => accounts.retryCredentials(tx, 'acme'),
  watch: ({ accounts }, tx) => accounts.watch(tx, 'acme'),
  unwatch: ({ accounts }, tx) => accounts.unwatch(tx, 'acme'),
  configure: ({ accounts }, tx) => accounts.configure(tx, 'acme', { weight: 2 }),
  stop: ({ stops }, tx) => stops.add(tx, { scope: 'all', ...note }),
  'end of a stop': ({ stops }, tx) => stops.end(tx, { scope: 'all' }),
  fence: (engine, tx) => engine.fence(tx),
  adoptDatabase: (engine, tx) => engine.adoptDatabase(tx),
  unsubscribe: (engine, tx) => engine.unsubscribe(tx, 'books'),
}

describe.each(Object.entries(closed))('on %s, where no transaction is open,', (_, [driver, run]) => {
  it('every command is refused with the name of the argument, and writes nothing', async () => {
    const engine = engineOn(driver)
    for (const [command, call] of Object.entries(commands)) {
      const refusal = await run((tx) => call(engine, tx)).then(
        () => 'done',
        (error: unknown) => error,
      )
      expect(refusal, command).toMatchObject({ code: 'no_transaction', field: 'tx' })
    }
    expect(await rows()).toEqual([0, 0, 0, 0])
  })
})

it.each([
  ['pg', pgDriver(pool)],
  ['drizzle', drizzleDriver(db)],
  ['kysely', kyselyDriver({ db: kysely, pool })],
  ['knex', knexDriver(knexRoot)],
  ['postgres.js', postgresJsDriver({ sql, pool })],
])('an enqueue without a transaction of %s is refused with the name of the argument', async (_, driver) => {
  const enqueued = engineOn(driver).transfers.enqueue(undefined, samplePayout('acme'))
  await expect(enqueued).rejects.toMatchObject({ code: 'no_transaction', field: 'tx' })
})

describe('in a transaction', () => {
  const engine = engineOn(pgDriver(pool))
  const enqueue = (on: Engine<unknown>, tx: unknown) => on.transfers.enqueue(tx, samplePayout('acme'))

  it.each(['begin', 'begin; select 1', 'start transaction isolation level serializable'])(
    'that was opened by "%s", nothing is refused, whether or not the host waits for it',
    (begin) =>
      withClient(async (client) => {
        await client.query(begin)
        await enqueue(engine, client)
        await client.query('rollback')
        const opening = client.query(begin)
        await enqueue(engine, client)
        await opening
        await client.query('rollback')
        await older(client).query(begin)
        await enqueue(engine, older(client))
        await client.query('rollback')
        expect(await rows()).toEqual([0, 0, 0, 0])
      }),
  )

  it('of a library that does not know of it, nothing is refused', async () => {
    await withClient(async (client) => {
      const opening = client.query('begin')
      await enqueue(engineOn(drizzleDriver(db)), drizzle({ client }))
      await opening
      await client.query('rollback')
    })
    await withRunner(async (runner) => {
      await runner.query('begin')
      await enqueue(engineOn(typeormDriver(dataSource)), runner.manager)
      await runner.query('rollback')
    })
    await kysely.connection().execute(async (connection) => {
      await connection.executeQuery(CompiledQuery.raw('begin'))
      await enqueue(engineOn(kyselyDriver({ db: kysely, pool })), connection)
      await connection.executeQuery(CompiledQuery.raw('rollback'))
    })
    expect(await rows()).toEqual([0, 0, 0, 0])
  })

  it('that has failed, the host gets the error of Postgres', () =>
    withClient(async (client) => {
      await client.query('begin')
      await client.query('select 1 / 0').catch(() => undefined)
      await expect(enqueue(engine, client)).rejects.toMatchObject({
        code: '25P02',
        message: expect.stringContaining('Roll it back'),
      })
      await client.query('rollback')
    }))

  it('the check sends nothing', () =>
    withClient(async (client) => {
      await client.query('begin')
      const sent: unknown[] = []
      const counting = new Proxy(client, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target)
          if (typeof member !== 'function') return member
          return (...values: unknown[]) => {
            if (name === 'query') sent.push(values[0])
            return Reflect.apply(member, target, values)
          }
        },
      })
      await enqueue(engine, counting)
      expect(sent).toHaveLength(1)
      await client.query('rollback')
    }))
})
