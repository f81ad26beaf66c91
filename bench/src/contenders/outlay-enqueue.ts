import { type Driver, pgDriver, postgres } from '@outlay/adapters-pg'
import { drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { createEngine, type Engine, type Gateway } from '@outlay/core'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, numeric, pgTable, text } from 'drizzle-orm/pg-core'
import { type Database, openDatabase } from '../database.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { createHostTable, type EnqueueHost, givenUp, insertInvoice, pgTransact } from '../workloads/enqueue-host.ts'

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
      const [id, customer, amount, currency, memo] = insertInvoice(n).values as [number, string, string, string, string]
      await tx.insert(invoice).values({ id, customer, amount, currency, memo })
      await engine.transfers.enqueue(tx, sampleTransfer(n))
      if (rollBack) throw givenUp
    }),
  )
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
        join outlay.event e on e.transfer_id = t.id and e.sequence = 1`),
    countRest: async () => [
      await database.count('select count(*) from outlay.transfer'),
      await database.count('select count(*) from outlay.event'),
      await database.count('select count(*) from outlay_queue.job'),
    ],
    close: () => database.close(),
  }
}
