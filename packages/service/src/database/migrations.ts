import { applyMigrations, readMigrations } from '@outlay/adapters-pg'
import type { Pool } from 'pg'
import { systemSession } from './tenant.ts'

/**
 * Brings the service's tables, functions and views to this release, each file of `sql/` in a transaction of its own and
 * recorded in the schema's table `migration`. Safe to run again and from several processes at once. Returns the names of what ran.
 */
export async function migrateService(options: {
  readonly pool: Pool
  /** Lower-case letters, digits and underscores, at most 31 characters. */
  readonly schema: string
}): Promise<readonly string[]> {
  if (!/^[a-z_][a-z0-9_]{0,30}$/.test(options.schema))
    throw new Error('A schema name is lower-case letters, digits and underscores, at most 31 characters.')
  const migrations = await readMigrations(new URL('../../sql/', import.meta.url))
  const client = await options.pool.connect()
  try {
    // Policies bind the owner of the tables too, and a migration may have to change rows.
    await client.query(systemSession.begin)
    const ran = await applyMigrations(client, { schema: options.schema, migrations })
    await client.query(systemSession.end)
    client.release()
    return ran
  } catch (error) {
    // Closed rather than given back, so that nothing else acts as the system on it.
    client.release(true)
    throw error
  }
}
