import { createEngine } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { drizzle as drizzleOnNeon } from 'drizzle-orm/neon-serverless'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleOnSql } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { openNeonPool } from '../test/neon-subject.ts'
import { emptyOutbox, migrateOutbox, samplePayout } from '../test/outbox.ts'
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
import { neonDriver } from './drivers/neon.ts'
import { pgDriver } from './drivers/pg.ts'
import { postgresJsDriver } from './drivers/postgres-js.ts'
import { prismaDriver } from './drivers/prisma.ts'
import { sequelizeDriver } from './drivers/sequelize.ts'
import { typeormDriver } from './drivers/typeorm.ts'

/** What waits for a text to be handed to a client. */
const waiting: { readonly begins: RegExp; readonly resolve: () => void }[] = []

const report = (text: string) => {
  for (const { begins, resolve } of waiting) if (begins.test(text)) resolve()
}

/** A client that says when it is given a text. */
class ReportingClient extends pg.Client {
  override query(...args: never[]): never {
    const first = args[0] as string | { text?: string } | undefined
    const text = typeof first === 'string' ? first : (first?.text ?? '')
    const result = (super.query as (...values: never[]) => unknown)(...args)
    report(text)
    return result as never
  }
}

const KnexPg = knex({ client: 'pg' }).client.constructor as new () => object

class ReportingKnex extends KnexPg {
  _driver() {
    return { ...pg, Client: ReportingClient }
  }
}

/** Resolves when a client is given a text that begins so. */
const whenSent = (begins: RegExp) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.push({ begins, resolve })
  return promise
}

const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
const pool = new pg.Pool({ connectionString: database.url, max: 5, Client: ReportingClient as never })
const db = drizzle({ client: pool })
const kysely = new Kysely({ dialect: new PostgresDialect({ pool }) })
const knexRoot = knex({ client: ReportingKnex as never, connection: database.url, pool: { min: 0, max: 2 } })
const prisma = openPrisma(pool)
const sql = openSql(database.url, { max: 2, debug: (_, text) => report(text) })
const sqlDb = drizzleOnSql({ client: sql })
const neonPool = await openNeonPool(database.url, undefined, 2)
neonPool.Client = class extends neonPool.Client {
  override query(...args: never[]): never {
    const first = args[0] as string | { text?: string } | undefined
    const result = (super.query as (...values: never[]) => unknown)(...args)
    report(typeof first === 'string' ? first : (first?.text ?? ''))
    return result as never
  }
}
const neonDb = drizzleOnNeon({ client: neonPool })
const dialectModule = { ...pg, Client: ReportingClient }
const sequelize = openSequelize(database.url, { max: 2, dialectModule })
const dataSource = await openDataSource(database.url, { max: 2, extra: { Client: ReportingClient } })
afterAll(async () => {
  await dataSource.destroy()
  await sequelize.close()
  await sql.end()
  await neonPool.end()
  await prisma.$disconnect()
  await knexRoot.destroy()
  await pool.end()
})
beforeEach(() => emptyOutbox(pool))

type Work = (tx: unknown) => Promise<unknown>
type Run = (work: Work) => Promise<unknown>
const libraries: Readonly<Record<string, readonly [driver: unknown, run: Run]>> = {
  pg: [pgDriver(pool), pgDriver(pool).transaction as Run],
  'pg, unprepared,': [pgDriver(pool, { prepared: false }), pgDriver(pool).transaction as Run],
  Drizzle: [drizzleDriver(db), ((work) => db.transaction(work as never)) as Run],
  Kysely: [kyselyDriver({ db: kysely, pool }), ((work) => kysely.transaction().execute(work as never)) as Run],
  Knex: [knexDriver(knexRoot), ((work) => knexRoot.transaction(work as never)) as Run],
  'postgres.js': [postgresJsDriver({ sql, pool }), ((work) => sql.begin(work as never)) as Run],
  'Drizzle over postgres.js': [
    drizzlePostgresJsDriver({ db: sqlDb, pool }),
    ((work) => sqlDb.transaction(work as never)) as Run,
  ],
  Neon: [neonDriver(neonPool), neonDriver(neonPool).transaction as Run],
  'Drizzle over Neon': [drizzleNeonDriver(neonDb), ((work) => neonDb.transaction(work as never)) as Run],
  Sequelize: [sequelizeDriver({ sequelize, pool }), ((work) => sequelize.transaction(work as never)) as Run],
  TypeORM: [typeormDriver(dataSource), ((work) => dataSource.transaction(work as never)) as Run],
  Prisma: [prismaDriver({ prisma, pool }), ((work) => prisma.$transaction(work as never)) as Run],
}

const limit = new Error('The customer has reached a limit.')
const left = async () => {
  const { rows } = await pool.query('select id from outlay.transfer union all select scope from outlay.stop')
  return rows.length
}

describe.each(Object.entries(libraries))(
  'a transaction of %s that a failure beside the engine rolls back',
  (name, [driver, run]) => {
    const engine = createEngine({ backend: postgres({ driver: driver as Driver<unknown> }), gateway: memoryGateway() })
    // Prisma keeps a statement from a transaction that is being closed, so no client is given one.
    const isSent = name !== 'Prisma'

    /** Runs both in one transaction, as `Promise.all` does, and waits for the end of both. */
    const together = async (pay: Work, fail: () => Promise<unknown>) => {
      let paying: Promise<unknown> | undefined
      const ended = run(async (tx) => {
        paying = pay(tx)
        await Promise.all([paying, fail()])
      })
      await expect(ended).rejects.toThrow(limit)
      return Promise.resolve(paying).catch((error: unknown) => error)
    }
    const failAfter = (event: Promise<void>) => () => event.then(() => Promise.reject(limit))

    it.runIf(isSent)('leaves none of the payouts that are enqueued one after another', async () => {
      const pay: Work = async (tx) => {
        for (let number = 0; number < 20; number += 1) await engine.transfers.enqueue(tx, samplePayout('acme'))
      }
      const refusal = await together(pay, failAfter(whenSent(/enqueue_one/)))
      expect(refusal).toMatchObject({ code: 'no_transaction', field: 'tx' })
      expect(await left()).toBe(0)
    })

    it.runIf(isSent)('leaves none of the payouts of one enqueueMany', async () => {
      const payouts = Array.from({ length: 5_000 }, () => samplePayout('acme'))
      await together((tx) => engine.transfers.enqueueMany(tx, payouts), failAfter(whenSent(/enqueue_many/)))
      expect(await left()).toBe(0)
    })

    it.runIf(isSent)('leaves nothing that comes while the rollback is under way', async () => {
      const rollingBack = whenSent(/^rollback/i)
      const stop: Work = async (tx) => {
        await rollingBack
        await engine.stops.add(tx, { scope: 'all' })
      }
      expect(await together(stop, () => Promise.reject(limit))).toMatchObject({ code: 'no_transaction', field: 'tx' })
      expect(await left()).toBe(0)
    })

    it('leaves nothing of a call that is not awaited', async () => {
      let paying: Promise<unknown> | undefined
      const ended = run((tx) => {
        paying = engine.transfers.enqueueMany(tx, [samplePayout('acme'), samplePayout('acme')]).catch(() => undefined)
        return Promise.reject(limit)
      })
      await expect(ended).rejects.toThrow(limit)
      await paying
      expect(await left()).toBe(0)
    })

    it('can still be used for all that comes before its end', async () => {
      await run(async (tx) => {
        await Promise.all([1, 2, 3].map(() => engine.transfers.enqueue(tx, samplePayout('acme'))))
        await engine.transfers.enqueueMany(tx, [samplePayout('acme'), samplePayout('acme')])
      })
      expect(await left()).toBe(5)
    })
  },
)

describe('a transaction of Kysely', () => {
  const engine = createEngine({
    backend: postgres({ driver: kyselyDriver({ db: kysely, pool }) }),
    gateway: memoryGateway(),
  })

  it('that the host has ended in SQL is noticed', async () => {
    const enqueued = kysely.transaction().execute(async (tx) => {
      await tx.executeQuery(CompiledQuery.raw('commit'))
      await engine.transfers.enqueue(tx, samplePayout('acme'))
    })
    await expect(enqueued).rejects.toMatchObject({ code: 'no_transaction', field: 'tx' })
    expect(await left()).toBe(0)
  })

  it('leaves the clients of its pool as they were', async () => {
    const client = await pool.connect()
    await kysely.transaction().execute((tx) => engine.transfers.enqueue(tx, samplePayout('acme')))
    expect(Object.hasOwn(client, 'query')).toBe(false)
    client.release()
    expect(await left()).toBe(1)
  })
})
