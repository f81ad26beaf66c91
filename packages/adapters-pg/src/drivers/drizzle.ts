import '@outlay/core/node-version'
import { type SQL, sql } from 'drizzle-orm'
import type { NodePgDatabase, NodePgTransaction } from 'drizzle-orm/node-postgres'
import type { ExtractTablesWithRelations } from 'drizzle-orm/relations'
import type { Pool } from 'pg'
import type { Driver } from '../database/driver.ts'
import { probeTransaction, type QueryClient, queryInTransaction } from '../database/open-transaction.ts'
import type { Row } from '../database/statement.ts'
import { checkPart, drizzleOver } from './driver-options.ts'
import { type PgDriverOptions, poolDriver } from './pool.ts'

/** The transaction that Drizzle hands to `db.transaction(async (tx) => …)`. */
export type DrizzleTransaction<Schema extends Record<string, unknown>> = NodePgTransaction<
  Schema,
  ExtractTablesWithRelations<Schema>
>

/**
 * A driver on Drizzle over node-postgres. The transaction is the one that `db.transaction` gives; background work runs on
 * the pool under Drizzle.
 *
 * Statements go to the client of the transaction itself, so that none is sent behind a `rollback`; Drizzle's logger does not see
 * them.
 *
 * @example
 * const db = drizzle({ client: pool, schema })
 * const engine = createEngine({ backend: postgres({ driver: drizzleDriver(db) }), gateway })
 */
export function drizzleDriver<Schema extends Record<string, unknown>>(
  db: NodePgDatabase<Schema> & { readonly $client: Pool },
  options: PgDriverOptions = {},
): Driver<DrizzleTransaction<Schema>> {
  checkPart(db, 'db', drizzleOver('node-postgres', 'drizzle-orm/node-postgres'), 'drizzleDriver(db)')
  return {
    ...poolDriver(db.$client, options, 'drizzleDriver(db)'),
    name: 'drizzle',
    async execute(tx, statement, values) {
      const client = clientOf(tx)
      if (client !== undefined) {
        return (await queryInTransaction(client, { text: statement.text, values: [...values] })).rows as Row[]
      }
      await probeTransaction((probe) => tx.execute(sql.raw(probe)))
      return (await tx.execute(bind(statement.text, values))).rows as Row[]
    },
    transaction: (work) => db.transaction(work),
  }
}

/** The client under a transaction of Drizzle, or the pool under what is none. */
const clientOf = (tx: unknown) => (tx as { readonly session?: { readonly client?: QueryClient } }).session?.client

/** Turns `$1 … $n` text into a Drizzle query whose parameters are bound as they are. */
function bind(text: string, values: readonly unknown[]): SQL {
  const chunks: SQL[] = []
  for (const [index, part] of text.split(/\$(\d+)/).entries()) {
    if (index % 2 === 0) chunks.push(sql.raw(part))
    else chunks.push(sql`${sql.param(values[Number(part) - 1])}`)
  }
  return sql.join(chunks)
}
