import type { Pool, PoolClient } from 'pg'
import type { Driver } from '../database/driver.ts'
import { queryInTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { bind, connectOutside, type PgDriverOptions, poolDriver } from './pool.ts'

export type { PgDriverOptions }

/**
 * A driver on node-postgres. The transaction is a `PoolClient` on which the host has run `begin`; any other is refused. The
 * client knows that itself, except in releases of node-postgres without `getTransactionStatus`, which cost a round trip more.
 *
 * @example
 * const engine = createEngine({ backend: postgres({ driver: pgDriver(pool) }), gateway })
 */
export function pgDriver(pool: Pool, options: PgDriverOptions = {}): Driver<PoolClient> {
  return {
    ...poolDriver(pool, options),
    name: 'pg',
    async execute(tx, statement, values) {
      return (await queryInTransaction(tx, bind(statement, values, options))).rows as Row[]
    },
    transaction: (work) => inPoolTransaction(pool, work),
  }
}

/** Runs `work` between `begin` and `commit` on a client of the pool; a client that cannot even roll back is discarded. */
export async function inPoolTransaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const client = await connectOutside(pool)
  let broken: Error | undefined
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    await client.query('begin')
    const result = await work(client)
    const { command } = await client.query('commit')
    // What Postgres answers when a statement has failed that nobody waited for.
    if (command === 'ROLLBACK')
      throw new Error('The transaction was rolled back: a statement in it failed that nobody waited for.')
    return result
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}
