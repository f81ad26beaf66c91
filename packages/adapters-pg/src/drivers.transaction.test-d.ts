import type { Pool as NeonPool, PoolClient as NeonPoolClient } from '@neondatabase/serverless'
import { createEngine, type EnqueueRequest, type Gateway } from '@outlay/core'
import type { ITXClientDenyList } from '@prisma/client/runtime/client'
import { drizzle as drizzleOnNeon } from 'drizzle-orm/neon-serverless'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle as drizzleOnSql } from 'drizzle-orm/postgres-js'
import type { Knex } from 'knex'
import type { ControlledTransaction, Kysely, Transaction } from 'kysely'
import type { Client, Pool, PoolClient } from 'pg'
import type { ReservedSql, Sql, TransactionSql } from 'postgres'
import type { Sequelize, Transaction as SequelizeTransaction } from 'sequelize'
import type { DataSource, EntityManager, QueryRunner } from 'typeorm'
import { expectTypeOf, test } from 'vitest'
import { postgres } from './backend.ts'
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

declare const pool: Pool
declare const gateway: Gateway
declare const request: EnqueueRequest

const schema = { invoices: pgTable('invoice', { id: text() }) }

test('the Drizzle engine accepts a Drizzle transaction and nothing else', () => {
  const db = drizzle({ client: pool, schema })
  const engine = createEngine({ backend: postgres({ driver: drizzleDriver(db) }), gateway })
  void db.transaction(async (tx) => {
    await engine.transfers.enqueue(tx, request)
    await engine.transfers.enqueueMany(tx, [request])
    await tx.transaction(async (inner) => engine.transfers.enqueue(inner, request))
  })
  // @ts-expect-error the root handle is not a transaction
  void engine.transfers.enqueue(db, request)
  // @ts-expect-error the root handle is not a transaction
  void engine.transfers.enqueueMany(db, [request])
  // @ts-expect-error another library's client is not a Drizzle transaction
  void engine.transfers.enqueue({} as PoolClient, request)
  // @ts-expect-error the transaction is mandatory and first
  void engine.transfers.enqueue(request)
})

test('a Drizzle subscription hands the same kind of transaction to its handler', () => {
  const db = drizzle({ client: pool, schema })
  const engine = createEngine({ backend: postgres({ driver: drizzleDriver(db) }), gateway })
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    expectTypeOf(tx.rollback).toBeFunction()
    await tx.insert(schema.invoices).values({ id: '1' })
  })
  // @ts-expect-error there is no such event
  engine.subscribe('typed', ['transfer.finished'], async () => undefined)
})

test('the node-postgres engine accepts a client of the pool and not the pool', () => {
  const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway })
  void engine.transfers.enqueue({} as PoolClient, request)
  // @ts-expect-error the pool is not a transaction: each of its queries may run on another connection
  void engine.transfers.enqueue(pool, request)
  // @ts-expect-error a Drizzle handle is not a client
  void engine.transfers.enqueue(drizzle({ client: pool }), request)
  expectTypeOf<Client>().not.toEqualTypeOf<PoolClient>()
})

interface Database {
  invoice: { id: string }
}

test('the Kysely engine accepts a Kysely transaction of the same database and nothing else', () => {
  const db = {} as Kysely<Database>
  const engine = createEngine({ backend: postgres({ driver: kyselyDriver({ db, pool }) }), gateway })
  void db.transaction().execute((tx) => engine.transfers.enqueue(tx, request))
  void engine.transfers.enqueue({} as ControlledTransaction<Database>, request)
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    await tx.insertInto('invoice').values({ id: '1' }).execute()
  })
  // @ts-expect-error the root handle is not a transaction
  void engine.transfers.enqueue(db, request)
  // @ts-expect-error nor is one connection
  void db.connection().execute((connection) => engine.transfers.enqueue(connection, request))
  // @ts-expect-error another library's transaction is not a Kysely transaction
  void engine.transfers.enqueue({} as Knex.Transaction, request)
  // @ts-expect-error a transaction of another database is not one of this
  void engine.transfers.enqueue({} as Transaction<{ other: { id: number } }>, request)
})

test('the Knex engine accepts a Knex transaction and nothing else', () => {
  const db = {} as Knex
  const engine = createEngine({ backend: postgres({ driver: knexDriver(db) }), gateway })
  void db.transaction(async (tx) => {
    await engine.transfers.enqueue(tx, request)
    await tx.transaction(async (inner) => engine.transfers.enqueue(inner, request))
  })
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    await tx('invoice').insert({ id: '1' })
  })
  // @ts-expect-error the root handle is not a transaction
  void engine.transfers.enqueue(db, request)
  // @ts-expect-error another library's client is not a Knex transaction
  void engine.transfers.enqueue({} as PoolClient, request)
  // @ts-expect-error another library's transaction is not a Knex transaction
  void engine.transfers.enqueue({} as Transaction<Database>, request)
})

/** The shape of a client that Prisma generates: overloads of `$transaction` included. */
interface PrismaClient {
  $connect(): Promise<void>
  $disconnect(): Promise<void>
  $on(event: never, callback: () => void): PrismaClient
  $extends: (extension: unknown) => unknown
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): Promise<T>
  $transaction<P extends Promise<unknown>[]>(steps: [...P], options?: { isolationLevel?: 'Serializable' }): Promise<P>
  $transaction<R>(
    work: (tx: Omit<PrismaClient, ITXClientDenyList>) => Promise<R>,
    options?: { maxWait?: number; timeout?: number; isolationLevel?: 'Serializable' },
  ): Promise<R>
  readonly invoice: { create(args: { data: { id: string } }): Promise<{ id: string }> }
}

test('the Prisma engine accepts the client of an interactive transaction and nothing else', () => {
  const prisma = {} as PrismaClient
  const engine = createEngine({ backend: postgres({ driver: prismaDriver({ prisma, pool }) }), gateway })
  void prisma.$transaction(async (tx) => {
    await engine.transfers.enqueue(tx, request)
    await tx.$transaction((inner) => engine.transfers.enqueue(inner, request))
  })
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    await tx.invoice.create({ data: { id: '1' } })
  })
  // @ts-expect-error the root client is not a transaction
  void engine.transfers.enqueue(prisma, request)
  // @ts-expect-error another library's transaction is not one of Prisma
  void engine.transfers.enqueue({} as Knex.Transaction, request)
  // @ts-expect-error a client of another schema is not one of this
  void engine.transfers.enqueue({} as Omit<PrismaClient, ITXClientDenyList | 'invoice'>, request)
  // @ts-expect-error what is no Prisma client makes no driver
  prismaDriver({ prisma: {} as Kysely<Database>, pool })
})

test('the TypeORM engine accepts an entity manager and nothing else', () => {
  const dataSource = {} as DataSource
  const engine = createEngine({ backend: postgres({ driver: typeormDriver(dataSource) }), gateway })
  void dataSource.transaction(async (tx) => {
    await engine.transfers.enqueue(tx, request)
    await tx.transaction(async (inner) => engine.transfers.enqueue(inner, request))
  })
  void engine.transfers.enqueue({} as QueryRunner['manager'], request)
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    expectTypeOf(tx).toEqualTypeOf<EntityManager>()
  })
  // @ts-expect-error the data source is not a transaction
  void engine.transfers.enqueue(dataSource, request)
  // @ts-expect-error nor is a query runner: its manager is
  void engine.transfers.enqueue({} as QueryRunner, request)
  // @ts-expect-error another library's client is not an entity manager
  void engine.transfers.enqueue({} as PoolClient, request)
})

test('the postgres.js engine accepts a transaction and nothing else', () => {
  const sql = {} as Sql
  const engine = createEngine({ backend: postgres({ driver: postgresJsDriver({ sql, pool }) }), gateway })
  void sql.begin(async (tx) => {
    await engine.transfers.enqueue(tx, request)
    await tx.savepoint((inner) => engine.transfers.enqueue(inner, request))
  })
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    await tx`insert into invoice (id) values ('1')`
  })
  // @ts-expect-error the instance is not a transaction
  void engine.transfers.enqueue(sql, request)
  // @ts-expect-error nor is a reserved connection
  void engine.transfers.enqueue({} as ReservedSql, request)
  // @ts-expect-error another library's client is not a transaction of postgres.js
  void engine.transfers.enqueue({} as PoolClient, request)
})

test('the engine of Drizzle over postgres.js accepts its transaction and nothing else', () => {
  const db = drizzleOnSql({ client: {} as Sql, schema })
  const engine = createEngine({ backend: postgres({ driver: drizzlePostgresJsDriver({ db, pool }) }), gateway })
  void db.transaction(async (tx) => {
    await engine.transfers.enqueue(tx, request)
    await tx.transaction(async (inner) => engine.transfers.enqueue(inner, request))
  })
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    await tx.insert(schema.invoices).values({ id: '1' })
  })
  // @ts-expect-error the root handle is not a transaction
  void engine.transfers.enqueue(db, request)
  // @ts-expect-error a transaction of postgres.js is not one of Drizzle
  void engine.transfers.enqueue({} as TransactionSql, request)
  // @ts-expect-error Drizzle over node-postgres makes no such driver
  drizzlePostgresJsDriver({ db: drizzle({ client: pool, schema }), pool })
})

test('the Neon engine accepts a client of the pool and nothing else', () => {
  const neonPool = {} as NeonPool
  const engine = createEngine({ backend: postgres({ driver: neonDriver(neonPool) }), gateway })
  void neonPool.connect().then((client) => engine.transfers.enqueue(client, request))
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    expectTypeOf(tx).toEqualTypeOf<NeonPoolClient>()
  })
  // @ts-expect-error the pool is not a transaction
  void engine.transfers.enqueue(neonPool, request)
  // @ts-expect-error a client of node-postgres is none of Neon
  void engine.transfers.enqueue({} as PoolClient, request)
})

test('the engine of Drizzle over the pool of Neon accepts its transaction and nothing else', () => {
  const db = drizzleOnNeon({ client: {} as NeonPool, schema })
  const engine = createEngine({ backend: postgres({ driver: drizzleNeonDriver(db) }), gateway })
  void db.transaction(async (tx) => {
    await engine.transfers.enqueue(tx, request)
    await tx.transaction(async (inner) => engine.transfers.enqueue(inner, request))
  })
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    await tx.insert(schema.invoices).values({ id: '1' })
  })
  // @ts-expect-error the root handle is not a transaction
  void engine.transfers.enqueue(db, request)
  // @ts-expect-error a client of Neon is not a transaction of Drizzle
  void engine.transfers.enqueue({} as NeonPoolClient, request)
})

test('the Sequelize engine accepts a transaction and nothing else', () => {
  const sequelize = {} as Sequelize
  const engine = createEngine({ backend: postgres({ driver: sequelizeDriver({ sequelize, pool }) }), gateway })
  void sequelize.transaction(async (tx) => {
    await engine.transfers.enqueue(tx, request)
    await sequelize.transaction({ transaction: tx }, (inner) => engine.transfers.enqueue(inner, request))
  })
  engine.subscribe('typed', ['transfer.completed'], async (_event, tx) => {
    expectTypeOf(tx).toEqualTypeOf<SequelizeTransaction>()
  })
  // @ts-expect-error Sequelize itself is not a transaction
  void engine.transfers.enqueue(sequelize, request)
  // @ts-expect-error another library's client is not a transaction of Sequelize
  void engine.transfers.enqueue({} as PoolClient, request)
})
