import '@outlay/core/node-version'
import { type Pool, types } from 'pg'
import type { Sequelize, Transaction } from 'sequelize'
import type { Driver } from '../database/driver.ts'
import { noTransaction, type QueryClient, queryInTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { type DriverParts, hasMethods, poolPart } from './driver-options.ts'
import { bind, type PgDriverOptions, partsDriver } from './pool.ts'

/** What {@link sequelizeDriver} works on. */
export interface SequelizeDriverOptions extends PgDriverOptions {
  readonly sequelize: Sequelize
  /** A pool of node-postgres to the same database: Sequelize has a pool of its own kind, and background work and LISTEN need connections. */
  readonly pool: Pool
}

/** A transaction of Sequelize, with the members that its declarations leave out. */
interface OpenTransaction {
  readonly connection?: (QueryClient & { readonly uuid?: string | undefined }) | undefined
  readonly id?: string
  readonly finished?: string
}

const made: DriverParts = {
  call: 'sequelizeDriver({ sequelize, pool })',
  parts: {
    sequelize: {
      is: (given) => hasMethods(given, 'transaction', 'getDialect') && (given as Sequelize).getDialect() === 'postgres',
      what: "an instance of Sequelize with its dialect postgres, such as new Sequelize('postgres://…')",
    },
    pool: poolPart,
  },
}

/**
 * A driver on Sequelize 6 with its dialect `postgres`. The transaction is the one that `sequelize.transaction` gives, nested ones included.
 *
 * Statements go to the connection of the transaction itself, so that Sequelize's logging and hooks do not see them.
 *
 * @example
 * const sequelize = new Sequelize(url)
 * const engine = createEngine({ backend: postgres({ driver: sequelizeDriver({ sequelize, pool }) }), gateway })
 */
export function sequelizeDriver(options: SequelizeDriverOptions): Driver<Transaction> {
  const background = partsDriver(options, made)
  return {
    ...background,
    name: 'sequelize',
    maxConnections: Math.min(background.maxConnections ?? defaultMax, mostTransactions(options.sequelize)),
    async execute(tx, statement, values) {
      const client = clientOf(tx as unknown as OpenTransaction)
      // The types of Sequelize give other values.
      return (await queryInTransaction(client, { ...bind(statement, values, options), types })).rows as Row[]
    },
    transaction: (work) => options.sequelize.transaction(work),
  }
}

/** Connections of Sequelize's pool unless the host says otherwise. */
const defaultMax = 5

/** How many transactions of Sequelize can be open at once. Handlers have some of them, and must leave the host others. */
function mostTransactions(sequelize: Sequelize): number {
  const { options } = sequelize as unknown as { readonly options?: { readonly pool?: { readonly max?: number } } }
  return options?.pool?.max ?? defaultMax
}

/** The connection of a transaction, as long as it belongs to that transaction. */
function clientOf({ connection, id, finished }: OpenTransaction): QueryClient {
  if (connection === undefined) throw noTransaction('is no transaction of Sequelize that has begun')
  // By now another caller may have the connection.
  if (finished !== undefined || connection.uuid !== id)
    throw noTransaction('is a transaction of Sequelize that has ended')
  return connection
}
