import { applyMigrations, readMigrations } from '@outlay/adapters-pg'
import type { Pool } from 'pg'

/**
 * Brings the service's tables to this release: `migrations/*.sql` in order, each in a transaction of its own and recorded
 * in the schema's table `migration`. Safe to run again and from several processes at once. Returns the names of what ran.
 */
export async function migrateService(options: {
  readonly pool: Pool
  /** Lower-case letters, digits and underscores, at most 31 characters. */
  readonly schema: string
}): Promise<readonly string[]> {
  if (!/^[a-z_][a-z0-9_]{0,30}$/.test(options.schema))
    throw new Error('A schema name is lower-case letters, digits and underscores, at most 31 characters.')
  const migrations = await readMigrations(new URL('../migrations/', import.meta.url))
  const client = await options.pool.connect()
  try {
    return await applyMigrations(client, { schema: options.schema, migrations })
  } finally {
    client.release()
  }
}
