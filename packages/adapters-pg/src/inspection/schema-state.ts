import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { hasTable } from '../database/tables.ts'
import { queueSchemaVersion, readQueueState } from '../queue/queue-schema.ts'
import type { DatabaseNames } from '../schema/database-names.ts'
import { checksum, engineMigrations, unknownNumbered } from '../schema/migrate.ts'

/** How one migration of this release stands. */
export interface MigrationState {
  /** File name without its ending. */
  readonly name: string
  /**
   * - `applied`: has run as it is, or is a function whose text a later release has replaced
   * - `pending`: has not run, or has to run again since its text is another now
   * - `changed`: has run with another text and may not run again: the files are not the ones that were released
   */
  readonly state: 'applied' | 'pending' | 'changed'
}

/** What the schema has and lacks. */
export interface SchemaState {
  readonly schema: string
  readonly queueSchema: string
  /** False when the engine's schema has never been migrated. */
  readonly exists: boolean
  readonly migrations: readonly MigrationState[]
  /** Migrations that ran and that this release does not know: a newer release was here. */
  readonly unknown: readonly string[]
  /** Version of pg-boss's schema; null when there is none. */
  readonly queueVersion: number | null
  /** Version of pg-boss's schema that this release was tested with. */
  readonly testedQueueVersion: number
  /** True when the queue that transfers go through is there. */
  readonly queueExists: boolean
}

/** Reads what the schema has and lacks. */
export async function readSchemaState<Tx>(driver: Driver<Tx>, databaseNames: DatabaseNames): Promise<SchemaState> {
  const { schema, queueSchema } = databaseNames
  const exists = await hasTable((text, values) => driver.run(text, values), `"${schema}".migration`)
  const applied = new Map<string, unknown>()
  if (exists) {
    const { rows } = await driver.run(`select name, checksum from "${schema}".migration`)
    for (const row of rows) applied.set(readName(row).name, row['checksum'])
  }
  const known = engineMigrations
  const isAhead = unknownNumbered(applied.keys(), known).length > 0
  const migrations = known.map((migration): MigrationState => {
    const { name, repeatable } = migration
    if (isAhead && repeatable && applied.has(name)) return { name, state: 'applied' }
    if (applied.get(name) === checksum(migration)) return { name, state: 'applied' }
    return { name, state: applied.has(name) && !repeatable ? 'changed' : 'pending' }
  })
  const names = new Set(known.map((migration) => migration.name))
  const queue = await readQueueState(driver, queueSchema)
  return {
    schema,
    queueSchema,
    exists,
    migrations,
    unknown: [...applied.keys()].filter((name) => !names.has(name)).sort(),
    queueVersion: queue.version,
    testedQueueVersion: queueSchemaVersion,
    queueExists: queue.exists,
  }
}

const readName = rowDecoder('migration', { name: Column.text })
