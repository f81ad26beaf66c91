import '@outlay/core/node-version'
import type { Knex } from 'knex'
import type { ControlledTransaction } from 'kysely'
import { type Pool, types } from 'pg'
import type { Driver } from '../database/driver.ts'
import { noTransaction, queryInTransaction } from '../database/open-transaction.ts'
import type { Row, Statement } from '../database/statement.ts'
import { type DriverParts, hasMethods, poolPart } from './driver-options.ts'
import { releaseEndedClients } from './ended-clients.ts'
import { clientOfKnex } from './knex.ts'
import { checkedOutClients, runInTransaction } from './kysely-clients.ts'
import { bind, type PgDriverOptions, partsDriver } from './pool.ts'

/** What the driver uses of an entity manager of MikroORM 6 or 7. */
export interface MikroOrmEntityManager {
  fork(options?: { readonly disableContextResolution?: boolean }): MikroOrmEntityManager
  getTransactionContext(): unknown
  isInTransaction(): boolean
  getEventManager(): { registerSubscriber(subscriber: typeof endings): void }
}

/** Contexts of transactions that have ended. What MikroORM 7 keeps of a nested one still has the connection of the one around it. */
const ended = new WeakSet<object>()

const noteEnd = ({ transaction }: { readonly transaction?: unknown }): void => {
  if (typeof transaction === 'object' && transaction !== null) ended.add(transaction)
}

/** Notes ends, also those of savepoints. One for all drivers: MikroORM registers it once. */
const endings = { beforeTransactionRollback: noteEnd, afterTransactionCommit: noteEnd }

/** What {@link mikroOrmDriver} works on. */
export interface MikroOrmDriverOptions<Em extends MikroOrmEntityManager> extends PgDriverOptions {
  /** MikroORM with its driver for PostgreSQL, initialized. */
  readonly orm: { readonly em: Em }
  /** A pool of node-postgres to the same database: MikroORM 6 has a pool of another kind, and background work and LISTEN need connections. */
  readonly pool: Pool
}

const made: DriverParts = {
  call: 'mikroOrmDriver({ orm, pool })',
  parts: {
    orm: {
      is: (given) =>
        hasMethods(
          (given as { readonly em?: unknown } | null | undefined)?.em,
          'fork',
          'getEventManager',
          'getConnection',
        ),
      what: 'MikroORM for PostgreSQL, such as await MikroORM.init({ clientUrl, entities }) of @mikro-orm/postgresql',
    },
    pool: poolPart,
  },
}

/**
 * A driver on MikroORM 6 or 7 for PostgreSQL. The transaction is the entity manager that `em.transactional` gives, nested ones included, or
 * one on which `em.begin` has run.
 *
 * What the engine writes is written at once, and entities are flushed at the end of the transaction, as always. Statements go to the
 * connection of the transaction itself, so that MikroORM's logger does not see them.
 *
 * @example
 * const orm = await MikroORM.init({ clientUrl: url, entities })
 * const engine = createEngine({ backend: postgres({ driver: mikroOrmDriver({ orm, pool }) }), gateway })
 */
export function mikroOrmDriver<Em extends MikroOrmEntityManager>(options: MikroOrmDriverOptions<Em>): Driver<Em> {
  const background = partsDriver(options, made)
  const { em } = options.orm
  em.getEventManager().registerSubscriber(endings)
  return {
    ...background,
    name: 'mikro-orm',
    maxConnections: Math.min(background.maxConnections ?? defaultMax, mostTransactions(options.orm)),
    async execute(tx, statement, values) {
      const context = contextOf(tx)
      if ('getExecutor' in context) return executeOnKysely(tx, context, statement, values)
      const client = await clientOfKnex(context)
      // The types of MikroORM give other values.
      return (await queryInTransaction(client, { ...bind(statement, values, options), types })).rows as Row[]
    },
    async transaction(work) {
      await findPool(em)
      // Not the one of the request in which it may run.
      const fork = em.fork({ disableContextResolution: true }) as unknown as {
        transactional: Driver<Em>['transaction']
      }
      return fork.transactional(work)
    },
  }
}

/** Connections of MikroORM's pool unless the host says otherwise. */
const defaultMax = 10

/** How many transactions of MikroORM can be open at once. Handlers have some of them, and must leave the host others. */
function mostTransactions(orm: object): number {
  const { config } = orm as { readonly config?: { get(name: 'pool'): { readonly max?: number } | undefined } }
  return config?.get('pool')?.max ?? defaultMax
}

/** What MikroORM keeps of an open transaction: one of Knex in MikroORM 6, one of Kysely in MikroORM 7. */
function contextOf(tx: MikroOrmEntityManager): Knex.Transaction | ControlledTransaction<unknown> {
  if (typeof (tx as Partial<MikroOrmEntityManager> | null)?.getTransactionContext !== 'function')
    throw noTransaction('is no entity manager of MikroORM')
  const context = tx.getTransactionContext() as Knex.Transaction | ControlledTransaction<unknown> | undefined
  if (context === undefined) throw noTransaction('is an entity manager without a transaction')
  return context
}

/** What the driver uses of a connection of MikroORM; before 7 it has no pool of node-postgres. */
interface Connection {
  getNativeClient?(): Promise<Pool>
}

/**
 * The pool of MikroORM 7, which releases no client whose connection has ended in a transaction: the engine ends that of a handler that
 * exceeds its time. Undefined for MikroORM 6.
 */
async function findPool(em: MikroOrmEntityManager): Promise<Pool | undefined> {
  const { getConnection } = em as unknown as { getConnection(): Connection }
  const pool = await getConnection.call(em).getNativeClient?.()
  if (pool !== undefined) releaseEndedClients(pool)
  return pool
}

/** The transaction of Kysely keeps its client to itself. */
async function executeOnKysely(
  tx: MikroOrmEntityManager,
  context: ControlledTransaction<unknown>,
  { text }: Statement,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  if (context.isCommitted || context.isRolledBack || ended.has(context))
    throw noTransaction('is an entity manager whose transaction has ended')
  const pool = await findPool(tx)
  if (pool === undefined) throw noTransaction('is an entity manager whose connection is not of node-postgres')
  const clients = checkedOutClients(pool)
  const query = { sql: text, parameters: values } as Parameters<typeof runInTransaction>[1]
  const executor = context.withoutPlugins().getExecutor()
  const { rows } = await executor.provideConnection((connection) => runInTransaction(connection, query, clients, types))
  return rows
}
