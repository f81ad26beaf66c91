import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { knexDriver } from '@outlay/adapters-pg/knex'
import { kyselyDriver } from '@outlay/adapters-pg/kysely'
import { prismaDriver } from '@outlay/adapters-pg/prisma'
import { createEngine, type Engine, type Gateway } from '@outlay/core'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, numeric, pgTable, text } from 'drizzle-orm/pg-core'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import { openPrisma } from '../../../packages/adapters-pg/test/prisma-client.ts'
import { type Database, openDatabase } from '../database.ts'
import { createHostTable, type EnqueueHost, givenUp, insertInvoice, pgTransact } from '../enqueue-host.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { countJobs, outboxTable } from './queue.ts'

const closedGateway: Gateway = {
  submit: () => Promise.reject(new Error('Nothing is sent in this workload.')),
  get: () => Promise.resolve(undefined),
}

const invoice = pgTable('invoice', {
  id: bigint('id', { mode: 'number' }).primaryKey(),
  customer: text('customer').notNull(),
  amount: numeric('amount').notNull(),
  currency: text('currency').notNull(),
  memo: text('memo'),
})

/** A host on node-postgres that enqueues with Outlay. */
export async function openOutlayPg(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_outlay_pg', clients)
  const engine = await migrate(database, pgDriver(database.pool))
  const transact = pgTransact(database, (client, n) => engine.transfers.enqueue(client, sampleTransfer(n)))
  return host('outlay, pg', database, transact)
}

/** A host on Drizzle that enqueues with Outlay; its own row is a Drizzle insert too. */
export async function openOutlayDrizzle(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_outlay_drizzle', clients)
  const db = drizzle({ client: database.pool, schema: { invoice } })
  const engine = await migrate(database, drizzleDriver(db))
  return host('outlay, drizzle', database, (n, rollBack) =>
    db.transaction(async (tx) => {
      await tx.insert(invoice).values(rowOf(n))
      await engine.transfers.enqueue(tx, sampleTransfer(n))
      if (rollBack) throw givenUp
    }),
  )
}

/** A host on Kysely that enqueues with Outlay; its own row is a Kysely insert too. */
export async function openOutlayKysely(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_outlay_kysely', clients)
  const db = new Kysely<{ invoice: Invoice }>({ dialect: new PostgresDialect({ pool: database.pool }) })
  const engine = await migrate(database, kyselyDriver({ db, pool: database.pool }))
  return host('outlay, kysely', database, (n, rollBack) =>
    db.transaction().execute(async (tx) => {
      await tx.insertInto('invoice').values(rowOf(n)).execute()
      await engine.transfers.enqueue(tx, sampleTransfer(n))
      if (rollBack) throw givenUp
    }),
  )
}

/** A host on Knex that enqueues with Outlay; its own row is a Knex insert too. Its statements are not counted. */
export async function openOutlayKnex(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_outlay_knex', 1)
  const db = knex({ client: 'pg', connection: database.url, pool: { min: 0, max: clients } })
  const engine = await migrate(database, knexDriver(db))
  const transact = (n: number, rollBack: boolean) =>
    db.transaction(async (tx) => {
      await tx('invoice').insert(rowOf(n))
      await engine.transfers.enqueue(tx, sampleTransfer(n))
      if (rollBack) throw givenUp
    })
  const found = host('outlay, knex', database, transact)
  return {
    ...found,
    close: async () => {
      await db.destroy()
      await found.close()
    },
  }
}

/** A host on Prisma that enqueues with Outlay; its own row is raw SQL, as its model is in no schema. */
export async function openOutlayPrisma(serverUrl: string, clients: number): Promise<EnqueueHost> {
  const database = await openDatabase(serverUrl, 'bench_outlay_prisma', clients)
  const prisma = openPrisma(database.pool)
  const engine = await migrate(database, prismaDriver({ prisma, pool: database.pool }))
  const transact = (n: number, rollBack: boolean) =>
    prisma.$transaction(async (tx) => {
      const { text: insert, values } = insertInvoice(n)
      await tx.$executeRawUnsafe(insert.replace('$3', '$3::numeric'), ...values)
      await engine.transfers.enqueue(tx, sampleTransfer(n))
      if (rollBack) throw givenUp
    })
  const found = host('outlay, prisma', database, transact)
  return {
    ...found,
    close: async () => {
      await prisma.$disconnect()
      await found.close()
    },
  }
}

interface Invoice {
  readonly id: number
  readonly customer: string
  readonly amount: string
  readonly currency: string
  readonly memo: string
}

/** The host's own row. */
function rowOf(n: number): Invoice {
  const [id, customer, amount, currency, memo] = insertInvoice(n).values as [number, string, string, string, string]
  return { id, customer, amount, currency, memo }
}

async function migrate<Tx>(database: Database, driver: Driver<Tx>): Promise<Engine<Tx>> {
  await createHostTable(database.admin)
  const engine = createEngine({ backend: postgres({ driver }), gateway: closedGateway })
  await engine.migrate()
  return engine
}

function host(name: string, database: Database, transact: EnqueueHost['transact']): EnqueueHost {
  return {
    name,
    database,
    transact,
    countComplete: () =>
      database.count(`select count(*) from invoice i
        join outlay.transfer t on t.idempotency_key = 'invoice-' || i.id
        join ${outboxTable} o on o.id = outlay.job_id(t.id)`),
    countRest: async () => [await database.count('select count(*) from outlay.transfer'), await countJobs(database)],
    close: () => database.close(),
  }
}
