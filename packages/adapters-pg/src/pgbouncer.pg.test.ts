import { createEngine } from '@outlay/core'
import { drain, findPgBouncer, memoryGateway, type PgBouncer, startPgBouncer } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import knex from 'knex'
import { Kysely, sql as kyselySql, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { emptyOutbox, migrateOutbox, samplePayout } from '../test/outbox.ts'
import { openPrisma } from '../test/prisma-client.ts'
import { postgres } from './backend.ts'
import type { Driver } from './database/driver.ts'
import { drizzleDriver } from './drivers/drizzle.ts'
import { knexDriver } from './drivers/knex.ts'
import { kyselyDriver } from './drivers/kysely.ts'
import { pgDriver } from './drivers/pg.ts'
import { prismaDriver } from './drivers/prisma.ts'

const program = await findPgBouncer()
if (program === undefined) {
  console.warn('Not tested behind PgBouncer: there is no pgbouncer on the PATH, and OUTLAY_PGBOUNCER names none.')
}

describe.skipIf(program === undefined)('the engine behind PgBouncer in transaction mode', async () => {
  const database = await testDatabase({ key: 'outlay', prepare: migrateOutbox })
  let bouncer: PgBouncer
  let pool: pg.Pool

  beforeAll(async () => {
    // Fewer connections of the server than of clients, so that transactions of one client go to several of them.
    bouncer = await startPgBouncer({ url: database.url, poolSize: 4 })
    pool = new pg.Pool({ connectionString: bouncer.url, max: 30 })
    await pool.query('create table effect (transfer_id text primary key references outlay.transfer (id))')
  })
  afterEach(async () => {
    await pool.query('truncate effect')
    await emptyOutbox(pool)
  })
  afterAll(async () => {
    await pool.end()
    await bouncer.stop()
  })

  it('works through node-postgres', () =>
    carry(pgDriver(pool, { prepared: false }), (tx, id) => tx.query('insert into effect values ($1)', [id])))

  it('works through Drizzle', () =>
    carry(drizzleDriver(drizzle({ client: pool }), { prepared: false }), (tx, id) =>
      tx.execute(drizzleSql`insert into effect values (${id})`),
    ))

  it('works through Kysely', () => {
    const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
    return carry(kyselyDriver({ db, pool, prepared: false }), (tx, id) =>
      kyselySql`insert into effect values (${id})`.execute(tx),
    )
  })

  it('works through Prisma', async () => {
    const prisma = openPrisma(pool)
    await carry(prismaDriver({ prisma, pool, prepared: false }), (tx, id) =>
      tx.$executeRawUnsafe('insert into effect values ($1)', id),
    )
    await prisma.$disconnect()
  })

  it('works through Knex', async () => {
    const db = knex({ client: 'pg', connection: bouncer.url, pool: { max: 30 } })
    await carry(knexDriver(db, { prepared: false }), (tx, id) => tx('effect').insert({ transfer_id: id }))
    await db.destroy()
  })

  /** Enqueues, submits, settles and delivers: the whole way, with two engines, failing handlers and polling alone. */
  async function carry<Tx>(driver: Driver<Tx>, insert: (tx: Tx, id: string) => PromiseLike<unknown>): Promise<void> {
    const gateway = memoryGateway()
    await using engine = createEngine({ backend: postgres({ driver }), gateway })
    await using second = createEngine({ backend: postgres({ driver }), gateway })
    const failed = new Set<string>()
    for (const one of [engine, second]) {
      one.subscribe('effects', ['transfer.completed'], async (event, tx) => {
        await insert(tx, event.transferId)
        if (failed.size >= 10 || failed.has(event.transferId)) return
        failed.add(event.transferId)
        throw new Error('once')
      })
      await one.start({ listen: false })
    }
    const nine = (accountId: string) => Array.from({ length: 9 }, () => samplePayout(accountId))
    const enqueue = (accountId: string) =>
      driver.transaction(async (tx) => [
        await engine.transfers.enqueue(tx, samplePayout(accountId)),
        ...(await engine.transfers.enqueueMany(tx, nine(accountId))),
      ])
    const rollBack = driver.transaction(async (tx) => {
      await engine.transfers.enqueue(tx, samplePayout('rolled-back'))
      throw new Error('changed my mind')
    })
    await expect(rollBack).rejects.toThrow('changed my mind')
    const transfers = await Promise.all(Array.from({ length: 20 }, (_, index) => enqueue(`account-${index}`)))
    expect(await drain(engine)).toMatchObject({ settled: 200, undelivered: 0, deadLetters: 0 })
    expect(failed.size).toBe(10)
    expect(gateway.transfers.size).toBe(200)
    const { rows } = await pool.query<{ transfer_id: string }>('select transfer_id from effect')
    expect(new Set(rows.map((row) => row.transfer_id))).toEqual(new Set(transfers.flat().map((one) => one.id)))
  }
})
