import { applyMigrations, type Migration, toMigrations } from '@outlay/adapters-pg'
import type { Pool } from 'pg'
import { sqlFiles } from '../generated/sql.ts'
import { systemSession } from './tenant.ts'

/** The migrations of the service's schema in this release. */
export const serviceMigrations: readonly Migration[] = toMigrations(sqlFiles)

/**
 * Migrates the service's tables, functions and views to this release. Each file of `sql/` runs in its own transaction and is
 * recorded in the schema's table `migration`. Safe to repeat and to run from several processes at once. Returns the files that ran.
 */
export async function migrateService(options: {
  readonly pool: Pool
  /** Lower-case letters, digits and underscores, at most 31 characters. */
  readonly schema: string
}): Promise<readonly string[]> {
  if (!/^[a-z_][a-z0-9_]{0,30}$/.test(options.schema))
    throw new Error('A schema name must be lower-case letters, digits and underscores, at most 31 characters.')
  const client = await options.pool.connect()
  try {
    // Policies also apply to the owner of the tables, and a migration may have to change rows.
    await client.query(systemSession.begin)
    const ran = await applyMigrations(client, { schema: options.schema, migrations: serviceMigrations })
    await client.query(systemSession.end)
    client.release()
    return ran
  } catch (error) {
    // Closed rather than released, so that nothing else runs as the system on it.
    client.release(true)
    throw error
  }
}
