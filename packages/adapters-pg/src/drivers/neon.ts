import '@outlay/core/node-version'
import type { Pool as NeonPool, PoolClient as NeonPoolClient } from '@neondatabase/serverless'
import { type Client, type Pool, type PoolClient, types } from 'pg'
import type { Driver } from '../database/driver.ts'
import { noTransaction, probeTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { checkPart, type DriverPart, hasMethods, poolPart } from './driver-options.ts'
import { inline } from './literals.ts'
import { inPoolTransaction } from './pg.ts'
import { listenBeside, type PgDriverOptions, poolDriver, runOn } from './pool.ts'

const neonPool: DriverPart = {
  is: (given) => poolPart.is(given) && hasMethods(given, 'Client'),
  what: 'the pool of @neondatabase/serverless, such as new Pool({ connectionString })',
}

/**
 * A driver on the `Pool` of `@neondatabase/serverless`, whose connections are WebSockets. The transaction is a `PoolClient` on which the host
 * has run `begin`; any other is refused. Background work runs on the same pool.
 *
 * @example
 * const pool = new Pool({ connectionString })
 * const engine = createEngine({ backend: postgres({ driver: neonDriver(pool) }), gateway })
 */
export function neonDriver(pool: NeonPool, options: PgDriverOptions = {}): Driver<NeonPoolClient> {
  checkPart(pool, 'pool', neonPool, 'neonDriver(pool)')
  // It is a node-postgres of its own, of an older release.
  const background = pool as unknown as Pool
  return {
    ...poolDriver(background, options, 'neonDriver(pool)'),
    name: 'neon',
    listen: (listen) => listenBeside(background, listen, pool.Client as unknown as typeof Client),
    async execute(tx, statement, values) {
      if (typeof (tx as { readonly release?: unknown } | undefined)?.release !== 'function')
        throw noTransaction('is no client of a pool')
      let rows: readonly Row[] = []
      await probeTransaction(async (probe) => {
        // One message: its clients do not know whether a transaction is open, and a `rollback` of the host may be ahead.
        const client = tx as unknown as PoolClient
        const session = { query: (text: string) => client.query({ text, types }) }
        rows = (await runOn(session, `${probe}; ${inline(statement, values)}`)).rows
      })
      return rows
    },
    transaction: (work) => inPoolTransaction(background, (client) => work(client as unknown as NeonPoolClient)),
  }
}
