import { readMigrations } from '@outlay/adapters-pg'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext } from '../context.ts'

/** Whether each dependency of a process is available. */
export interface Readiness {
  /** True when all of the following are true. */
  readonly ready: boolean
  /** The database answers. */
  readonly database: boolean
  /** Every migration of this release has run. */
  readonly migrated: boolean
  /** The engine's workers of this process run. */
  readonly engine: boolean
}

/**
 * Makes a function that checks whether this process is ready. It never throws. Anybody may ask, so that the database is asked once for
 * all who ask within a second.
 */
export function createReadiness(
  context: Pick<ServiceContext, 'pool' | 'schema' | 'isRunning' | 'readinessCacheMs'>,
  realTimeMs: () => number = () => performance.now(),
): () => Promise<Readiness> {
  const readOnce = cached(() => readApplied(context), context.readinessCacheMs ?? 1_000, realTimeMs)
  const known = readMigrations(new URL('../../sql/', import.meta.url)).then((all) => all.map(({ name }) => name))
  known.catch(() => {})
  return async () => {
    const { database, applied } = await readOnce()
    const migrated = await known.then(
      (names) => names.every((name) => applied.has(name)),
      () => false,
    )
    const engine = context.isRunning?.() ?? false
    return { ready: database && migrated && engine, database, migrated, engine }
  }
}

/** Shares one call of `read`, which never rejects, while it is under way and for `lifetimeMs` after it has ended. */
function cached<T>(read: () => Promise<T>, lifetimeMs: number, realTimeMs: () => number): () => Promise<T> {
  let current: Promise<T> | undefined
  let untilMs = Number.POSITIVE_INFINITY
  return () => {
    if (current !== undefined && realTimeMs() < untilMs) return current
    untilMs = Number.POSITIVE_INFINITY
    current = read().finally(() => {
      untilMs = realTimeMs() + lifetimeMs
    })
    return current
  }
}

const readMigration = rowDecoder('migration', { name: Column.text })

const undefinedTable = '42P01'

async function readApplied(context: Pick<ServiceContext, 'pool' | 'schema'>): Promise<{
  readonly database: boolean
  readonly applied: ReadonlySet<string>
}> {
  try {
    const { rows } = await context.pool.query(`select name from "${context.schema}".migration`)
    return { database: true, applied: new Set(rows.map((row) => readMigration(row).name)) }
  } catch (error) {
    const database = error instanceof Error && 'code' in error && error.code === undefinedTable
    return { database, applied: new Set() }
  }
}
