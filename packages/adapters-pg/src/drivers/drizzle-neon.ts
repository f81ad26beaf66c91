import '@outlay/core/node-version'
import type { Pool, PoolClient } from '@neondatabase/serverless'
import type { NeonDatabase, NeonSession, NeonTransaction } from 'drizzle-orm/neon-serverless'
import type { ExtractTablesWithRelations } from 'drizzle-orm/relations'
import type { Driver } from '../database/driver.ts'
import { checkPart, drizzleOver } from './driver-options.ts'
import { neonDriver } from './neon.ts'
import type { PgDriverOptions } from './pool.ts'

/** The transaction that Drizzle over the pool of Neon hands to `db.transaction(async (tx) => …)`. */
export type DrizzleNeonTransaction<Schema extends Record<string, unknown>> = NeonTransaction<
  Schema,
  ExtractTablesWithRelations<Schema>
>

/** The session of a handle of Drizzle, whose member `client` is the pool or the client under it. */
const sessionOf = <Schema extends Record<string, unknown>>(handle: unknown) =>
  (handle as { readonly session?: NeonSession<Schema, ExtractTablesWithRelations<Schema>> }).session

/**
 * A driver on Drizzle over the `Pool` of `@neondatabase/serverless`. The transaction is the one that `db.transaction` gives; all else is as with
 * `neonDriver`. Drizzle's logger does not see the engine's statements.
 *
 * @example
 * const db = drizzle({ client: pool, schema })
 * const engine = createEngine({ backend: postgres({ driver: drizzleNeonDriver(db) }), gateway })
 */
export function drizzleNeonDriver<Schema extends Record<string, unknown>>(
  db: NeonDatabase<Schema> & { readonly $client: Pool },
  options: PgDriverOptions = {},
): Driver<DrizzleNeonTransaction<Schema>> {
  checkPart(db, 'db', drizzleOver('Neon', 'drizzle-orm/neon-serverless'), 'drizzleNeonDriver(db)')
  const neon = neonDriver(db.$client, options)
  const session = sessionOf<Schema>(db)
  return {
    ...neon,
    name: 'drizzle over neon',
    execute(tx, statement, values) {
      const { client } = (sessionOf(tx) ?? {}) as { readonly client?: PoolClient }
      return neon.execute(client as PoolClient, statement, values)
    },
    // On a client of the pool, since Drizzle keeps one whose `begin` fails.
    transaction: (work) =>
      neon.session((client) => {
        const own: NonNullable<typeof session> = Object.create(session ?? null, { client: { value: client } })
        return own.transaction(work)
      }),
  }
}
