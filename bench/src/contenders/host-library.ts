import { type Driver, pgDriver } from '@outlay/adapters-pg'
import { type DrizzleTransaction, drizzleDriver } from '@outlay/adapters-pg/drizzle'
import { knexDriver } from '@outlay/adapters-pg/knex'
import { kyselyDriver } from '@outlay/adapters-pg/kysely'
import { type PrismaTransaction, prismaDriver } from '@outlay/adapters-pg/prisma'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, jsonb, numeric, pgTable, text } from 'drizzle-orm/pg-core'
import knex, { type Knex } from 'knex'
import { Kysely, PostgresDialect, type Transaction } from 'kysely'
import type { PoolClient } from 'pg'
import { openPrisma, type PrismaClient } from '../../../packages/adapters-pg/test/prisma-client.ts'
import { type Database, inTransaction } from '../database.ts'
import { insertInvoice } from '../enqueue-host.ts'
import { insertTransfer, type TransferRow, transferRow } from './plain-insert.ts'

/** A library through which a host writes. */
export interface HostLibrary<Tx> {
  readonly name: string
  /** Opens it on a database, for so many clients. */
  open(database: Database, clients: number): HostWriter<Tx>
}

/** The transactions of a host, and its statements in the way of its library. */
export interface HostWriter<Tx> {
  readonly driver: Driver<Tx>
  transaction(work: (tx: Tx) => Promise<void>): Promise<void>
  /** Writes the host's own row. */
  insertInvoice(tx: Tx, n: number): Promise<unknown>
  /** Writes the row of a transfer without an engine. */
  insertTransfer(tx: Tx, n: number): Promise<unknown>
  close(): Promise<void>
}

interface Invoice {
  readonly id: number
  readonly customer: string
  readonly amount: string
  readonly currency: string
  readonly memo: string
}

/** The host's own row. */
function invoiceRow(n: number): Invoice {
  const [id, customer, amount, currency, memo] = insertInvoice(n).values as [number, string, string, string, string]
  return { id, customer, amount, currency, memo }
}

const tables = {
  invoice: pgTable('invoice', {
    id: bigint('id', { mode: 'number' }).primaryKey(),
    customer: text('customer').notNull(),
    amount: numeric('amount').notNull(),
    currency: text('currency').notNull(),
    memo: text('memo'),
  }),
  transfer: pgTable('transfer', {
    id: text('id').primaryKey(),
    account_id: text('account_id').notNull(),
    idempotency_key: text('idempotency_key').notNull(),
    fingerprint: text('fingerprint').notNull(),
    request: jsonb('request').notNull(),
  }),
}

/** No library: statements with names, on node-postgres. */
export const pgLibrary: HostLibrary<PoolClient> = {
  name: 'pg',
  open: (database) => ({
    driver: pgDriver(database.pool),
    transaction: (work) => inTransaction(database.pool, work),
    insertInvoice: (client, n) => client.query(insertInvoice(n)),
    insertTransfer: (client, n) => client.query(insertTransfer(n).statement),
    close: async () => undefined,
  }),
}

/** Drizzle; the row of the transfer is a prepared statement of it. */
export const drizzleLibrary: HostLibrary<DrizzleTransaction<typeof tables>> = {
  name: 'drizzle',
  open(database) {
    const db = drizzle({ client: database.pool, schema: tables })
    return {
      driver: drizzleDriver(db),
      transaction: (work) => db.transaction(work),
      insertInvoice: (tx, n) => tx.insert(tables.invoice).values(invoiceRow(n)).execute(),
      insertTransfer: (tx, n) => tx.insert(tables.transfer).values(transferRow(n)).prepare('insert_transfer').execute(),
      close: async () => undefined,
    }
  },
}

/** Kysely, which prepares no statements. */
export const kyselyLibrary: HostLibrary<Transaction<{ invoice: Invoice; transfer: TransferRow }>> = {
  name: 'kysely',
  open(database) {
    const db = new Kysely<{ invoice: Invoice; transfer: TransferRow }>({
      dialect: new PostgresDialect({ pool: database.pool }),
    })
    return {
      driver: kyselyDriver({ db, pool: database.pool }),
      transaction: (work) => db.transaction().execute(work),
      insertInvoice: (tx, n) => tx.insertInto('invoice').values(invoiceRow(n)).execute(),
      insertTransfer: (tx, n) => tx.insertInto('transfer').values(transferRow(n)).execute(),
      close: async () => undefined,
    }
  },
}

/** Knex, which prepares no statements. It has connections of its own, whose statements are not counted. */
export const knexLibrary: HostLibrary<Knex.Transaction> = {
  name: 'knex',
  open(database, clients) {
    const db = knex({ client: 'pg', connection: database.url, pool: { min: 0, max: clients } })
    return {
      driver: knexDriver(db),
      transaction: (work) => db.transaction(work),
      insertInvoice: async (tx, n) => tx('invoice').insert(invoiceRow(n)),
      insertTransfer: async (tx, n) => tx('transfer').insert(transferRow(n)),
      close: () => db.destroy(),
    }
  },
}

/** Prisma; both rows are raw SQL, as their models are in no schema. */
export const prismaLibrary: HostLibrary<PrismaTransaction<PrismaClient>> = {
  name: 'prisma',
  open(database) {
    const prisma = openPrisma(database.pool)
    return {
      driver: prismaDriver({ prisma, pool: database.pool }),
      transaction: (work) => prisma.$transaction(work),
      insertInvoice: (tx, n) => {
        const { text: insert, values } = insertInvoice(n)
        return tx.$executeRawUnsafe(insert.replace('$3', '$3::numeric'), ...values)
      },
      insertTransfer: (tx, n) => {
        const { text: insert, values } = insertTransfer(n).statement
        return tx.$executeRawUnsafe(insert.replace('$5', '$5::jsonb'), ...values)
      },
      close: () => prisma.$disconnect(),
    }
  },
}
