import type { DriverSubject } from '@outlay/testing/conformance'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import knex, { type Knex } from 'knex'
import { CamelCasePlugin, type ControlledTransaction, Kysely, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { postgres } from '../src/backend.ts'
import { type DrizzleTransaction, drizzleDriver } from '../src/drivers/drizzle.ts'
import { knexDriver } from '../src/drivers/knex.ts'
import { kyselyDriver } from '../src/drivers/kysely.ts'
import { type PgDriverOptions, pgDriver } from '../src/drivers/pg.ts'
import { type PrismaTransaction, prismaDriver } from '../src/drivers/prisma.ts'
import { openPrisma, type PrismaClient } from './prisma-client.ts'

const poolOf = (url: string) => new pg.Pool({ connectionString: url, max: 30 })

/** A client of a pool, of node-postgres or of a library like it. */
interface Client {
  query(text: string, values?: unknown[]): Promise<unknown>
  release(): void
}

/** What a host does by itself with the clients of a pool: transactions, savepoints, a row of its own. */
export const hostOf = <C extends Client>(pool: {
  connect(): Promise<C>
  end(): Promise<void>
}): Omit<DriverSubject<C>, 'backend'> => ({
  async transaction(work) {
    const tx = await pool.connect()
    try {
      await tx.query('begin')
      const result = await work(tx)
      await tx.query('commit')
      return result
    } catch (error) {
      await tx.query('rollback')
      throw error
    } finally {
      tx.release()
    }
  },
  async nested(tx, work) {
    await tx.query('savepoint inside')
    try {
      const result = await work(tx)
      await tx.query('release savepoint inside')
      return result
    } catch (error) {
      await tx.query('rollback to savepoint inside')
      throw error
    }
  },
  insertNote: (tx, id, body) => tx.query('insert into note (id, body) values ($1, $2)', [id, body]),
  close: () => pool.end(),
})

/** Opens node-postgres with its driver. */
export function openPg(url: string, options: PgDriverOptions = {}): DriverSubject<pg.PoolClient> {
  const pool = poolOf(url)
  return { ...hostOf(pool), backend: postgres({ driver: pgDriver(pool, options) }) }
}

const notes = pgTable('note', { id: text().primaryKey(), body: text() })
const schema = { notes }

/** Opens Drizzle with its driver. */
export function openDrizzle(url: string): DriverSubject<DrizzleTransaction<typeof schema>> {
  const pool = poolOf(url)
  const db = drizzle({ client: pool, schema })
  return {
    backend: postgres({ driver: drizzleDriver(db) }),
    transaction: (work) => db.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    insertNote: (tx, id, body) => tx.insert(notes).values({ id, body }),
    close: () => pool.end(),
  }
}

interface Database {
  note: { id: string; body: string }
}

/** Opens Kysely with its driver. The plugin renames the columns of every row, but for those of the engine. */
export function openKysely(url: string): DriverSubject<Transaction<Database>> {
  const pool = poolOf(url)
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }), plugins: [new CamelCasePlugin()] })
  return {
    backend: postgres({ driver: kyselyDriver({ db, pool }) }),
    async transaction(work) {
      const tx = await db.startTransaction().execute()
      try {
        const result = await work(tx)
        await tx.commit().execute()
        return result
      } catch (error) {
        await tx.rollback().execute()
        throw error
      }
    },
    async nested(tx, work) {
      const inner = await (tx as ControlledTransaction<Database>).savepoint('inside').execute()
      try {
        const result = await work(inner)
        await inner.releaseSavepoint('inside').execute()
        return result
      } catch (error) {
        await inner.rollbackToSavepoint('inside').execute()
        throw error
      }
    },
    insertNote: (tx, id, body) => tx.insertInto('note').values({ id, body }).execute(),
    close: () => db.destroy(),
  }
}

/** Opens Knex with its driver. The hooks mangle every answer and name, but for those of the engine. */
export function openKnex(url: string, options: PgDriverOptions = {}): DriverSubject<Knex.Transaction> {
  const db = knex({
    client: 'pg',
    connection: url,
    pool: { max: 30 },
    postProcessResponse: () => 'mangled',
    wrapIdentifier: (name, wrap) => wrap(name.replace('camelNote', 'note')),
  })
  return {
    backend: postgres({ driver: knexDriver(db, options) }),
    transaction: (work) => db.transaction(work),
    nested: (tx, work) => tx.transaction(work),
    insertNote: (tx, id, body) => tx('camelNote').insert({ id, body }),
    close: () => db.destroy(),
  }
}

/** Opens Prisma with its driver. */
export function openPrismaClient(url: string): DriverSubject<PrismaTransaction<PrismaClient>> {
  const pool = poolOf(url)
  const prisma = openPrisma(pool)
  return {
    backend: postgres({ driver: prismaDriver({ prisma, pool }) }),
    transaction: (work) => prisma.$transaction(work, { maxWait: 30_000, timeout: 60_000 }),
    nested: (tx, work) => tx.$transaction(work),
    insertNote: (tx, id, body) => tx.note.create({ data: { id, body } }),
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}
