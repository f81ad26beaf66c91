import { createReadiness as createBoundedReadiness } from '@outlay/adapters-pg/probes'
import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'
import { sqlStateOf } from '../database/conflict.ts'
import { connectWithin } from '../database/connect.ts'
import { serviceMigrations } from '../database/migrations.ts'

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
}

type ReadinessContext = Pick<
  ServiceContext,
  'pool' | 'schema' | 'isRunning' | 'readinessCacheMs' | 'readinessTimeoutMs'
>

/**
 * Makes a function that checks whether this process is ready. It never throws. Anybody may ask, so that the database is asked once for
 * all who ask within a second. One that does not answer within two seconds is not available.
 */
export function createReadiness(context: ReadinessContext): () => Promise<Readiness> {
  const { readinessCacheMs = 1_000, readinessTimeoutMs = 2_000 } = context
  const readReadiness = createBoundedReadiness({
    check: () => checkMigrated(context, readinessTimeoutMs),
    workers: () => ({ phase: context.isRunning?.() === true ? 'running' : 'stopped', loops: [] }),
    cacheMs: readinessCacheMs,
    timeoutMs: readinessTimeoutMs,
  })
  return async () => {
    const { ready, database, schema: migrated, workers: engine } = await readReadiness()
    return { ready, database, migrated, engine }
  }
}

const readMigration = rowDecoder('migration', { name: Column.text })

const undefinedTable = '42P01'

/** @throws OutlayError `not_migrated`, and what the pool throws. */
async function checkMigrated({ pool, schema }: ReadinessContext, limitMs: number): Promise<void> {
  const client = await connectWithin(pool, limitMs)
  let broken: Error | undefined
  try {
    const { rows } = await client.query(`select name from "${schema}".migration`)
    const applied = new Set(rows.map((row) => readMigration(row).name))
    if (serviceMigrations.every(({ name }) => applied.has(name))) return
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
