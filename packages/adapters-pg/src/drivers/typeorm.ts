import '@outlay/core/node-version'
import { OutlayError } from '@outlay/core'
import type { Pool } from 'pg'
import type { DataSource, EntityManager } from 'typeorm'
import type { Driver } from '../database/driver.ts'
import { noTransaction, type QueryClient, queryInTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { bind, type PgDriverOptions, poolDriver } from './pool.ts'

/**
 * A driver on TypeORM with its driver `postgres`. The transaction is the `EntityManager` that `dataSource.transaction` gives, or that of a
 * query runner on which `startTransaction` has run; background work runs on the pool of the data source.
 *
 * Statements go to the client of the query runner itself, so that TypeORM's logger and subscribers do not see them.
 *
 * @throws OutlayError `invalid_request` for a data source that is not initialized, or that is not of the type `postgres`
 * @example
 * await dataSource.initialize()
 * const engine = createEngine({ backend: postgres({ driver: typeormDriver(dataSource) }), gateway })
 */
export function typeormDriver(dataSource: DataSource, options: PgDriverOptions = {}): Driver<EntityManager> {
  return {
    ...poolDriver(poolOf(dataSource), options, 'typeormDriver(dataSource)'),
    name: 'typeorm',
    async execute(tx, statement, values) {
      const client = await clientOf(tx)
      return (await queryInTransaction(client, bind(statement, values, options))).rows as Row[]
    },
    transaction: (work) => dataSource.transaction(work),
  }
}

/** The pool of a data source, which has none before it is initialized. */
function poolOf(dataSource: DataSource): Pool {
  const refuse = (message: string) =>
    OutlayError.fromIssues([{ field: 'dataSource', code: 'invalid_request', message }])
  const { isInitialized, options, driver } = (dataSource ?? {}) as Partial<DataSource>
  if (options?.type === undefined)
    throw refuse(
      "must be a data source of TypeORM, such as new DataSource({ type: 'postgres', … }); write typeormDriver(dataSource)",
    )
  if (options.type !== 'postgres') throw refuse(`must be of the type postgres, and is of the type ${options.type}`)
  const { master } = driver as { readonly master?: Pool }
  if (!isInitialized || master === undefined)
    throw refuse('is not initialized; make the driver after `await dataSource.initialize()`')
  return master
}

/** The client under an entity manager. */
async function clientOf(tx: EntityManager): Promise<QueryClient> {
  const { queryRunner } = tx
  if (queryRunner === undefined && 'startTransaction' in tx)
    throw noTransaction('is a query runner and not its manager')
  if (queryRunner === undefined) throw noTransaction('is the manager of the data source itself')
  // A query runner without a connection would take one from the pool.
  const { databaseConnection } = queryRunner as { readonly databaseConnection?: QueryClient }
  if (databaseConnection === undefined && !queryRunner.isTransactionActive)
    throw noTransaction('is the manager of a query runner without a transaction')
  const client = queryRunner.isReleased ? undefined : ((await queryRunner.connect()) as QueryClient)
  // By now another caller may have the client.
  if (client === undefined || queryRunner.isReleased)
    throw noTransaction('is the manager of a query runner that was released')
  return client
}
