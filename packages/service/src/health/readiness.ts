import { createReadiness as createBoundedReadiness } from '@outlay/adapters-pg/probes'
import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'
import { sqlStateOf } from '../database/conflict.ts'
import { connectWithin } from '../database/connect.ts'
import { serviceMigrations } from '../database/migrations.ts'
import { findOtherKeys, otherKeys } from '../key-check.ts'

/** Whether each dependency of a process is available. */
export interface Readiness {
  /** True when all of the following are true. */
  readonly ready: boolean
  /** The database answers in time. */
  readonly database: boolean
  /** Every migration of this release has run. */
  readonly migrated: boolean
  /** The engine's workers of this process run. */
  readonly engine: boolean
  /** The keys of this process are those of the database. */
  readonly keys: boolean
}

type ReadinessContext = Pick<
  ServiceContext,
  'pool' | 'schema' | 'secrets' | 'logger' | 'isRunning' | 'readinessCacheMs' | 'readinessTimeoutMs'
>

/**
 * Makes a function that checks whether this process is ready. It never throws. Anybody may ask, so that the database is asked once for
 * all who ask within a second. One that does not answer within two seconds is not available.
 */
export function createReadiness(context: ReadinessContext): () => Promise<Readiness> {
  const { readinessCacheMs = 1_000, readinessTimeoutMs = 2_000 } = context
  let keys = false
  let isReported = false
  const readReadiness = createBoundedReadiness({
    async check() {
      const others = await checkTables(context, readinessTimeoutMs)
      keys = others.length === 0
      if (!keys && !isReported) context.logger.error({ keys: others }, otherKeys(others))
      isReported = !keys
    },
    workers: () => ({ phase: context.isRunning?.() === true ? 'running' : 'stopped', loops: [] }),
    cacheMs: readinessCacheMs,
    timeoutMs: readinessTimeoutMs,
  })
  return async () => {
    const { ready, database, schema: migrated, workers: engine } = await readReadiness()
    const known = migrated && keys
    return { ready: ready && known, database, migrated, engine, keys: known }
  }
}

const readMigration = rowDecoder('migration', { name: Column.text })

const undefinedTable = '42P01'

/**
 * Answers with the names of the keys that are not those of the database.
 * @throws OutlayError `not_migrated`, and what the pool throws.
 */
async function checkTables(context: ReadinessContext, limitMs: number): Promise<readonly string[]> {
  const { pool, schema } = context
  const client = await connectWithin(pool, limitMs)
  let broken: Error | undefined
  try {
    const { rows } = await client.query(`select name from "${schema}".migration`)
    const applied = new Set(rows.map((row) => readMigration(row).name))
    if (serviceMigrations.every(({ name }) => applied.has(name))) return await findOtherKeys(client, context)
  } catch (error) {
    if (sqlStateOf(error) !== undefinedTable) {
      broken = error as Error
      throw error
    }
  } finally {
    client.release(broken)
  }
  throw new OutlayError('not_migrated', 'A migration of this release has not run.')
}
