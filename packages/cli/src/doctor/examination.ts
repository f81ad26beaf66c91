import { isLacking, isLockTimeout } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { type ConnectionFacts, diagnose } from './diagnosis.ts'
import type { Finding } from './finding.ts'
import { diagnoseLocks, diagnoseUnchecked } from './locks.ts'
import { diagnoseObjects } from './objects.ts'
import { diagnoseSchema } from './schema.ts'
import { diagnoseScreening } from './screening.ts'

/** Where problems are searched: the reads of a database, and what it is called in the findings. */
export type Examined = Pick<Session, 'inspection' | 'schema' | 'database' | 'server'>

/** What is checked beside the database, and who is kept informed. */
export interface ExaminationOptions {
  /** Tests whether a connection receives notifications. Default: not tested. */
  readonly testConnection?: (() => Promise<ConnectionFacts>) | undefined
  /** Finds more, once all else could be read. Default: nothing. */
  readonly findMore?: (() => Promise<readonly Finding[]>) | undefined
  /** Is called before each step. Default: nobody is. */
  readonly onProgress?: ((text: string) => void) | undefined
}

const untested: ConnectionFacts = { notified: true, pooled: false }

/**
 * Checks a database of the engine for every known problem; serious findings first. Changes nothing. The reads of the inspection should wait
 * for locks a few seconds at most: what cannot be read then is a finding, too.
 */
export async function examine(examined: Examined, options: ExaminationOptions = {}): Promise<readonly Finding[]> {
  try {
    return await examineAll(examined, options)
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    return diagnoseUnchecked(await examined.inspection.locks())
  }
}

async function examineAll(
  examined: Examined,
  { testConnection, findMore, onProgress }: ExaminationOptions,
): Promise<readonly Finding[]> {
  const { inspection } = examined
  onProgress?.('Checking the schema and the queue …')
  const state = await inspection.schema()
  const schema = diagnoseSchema(state, examined)
  // Views of another release would fail.
  if (schema.some((finding) => finding.severity === 'serious')) return schema
  // A later release has made its own objects.
  const isAhead = state.unknown.some((name) => /^\d/.test(name))
  const objects = isAhead ? [] : diagnoseObjects(state.schema, await inspection.differences())
  onProgress?.('Checking transfers, jobs, subscriptions and the server …')
  const locks = diagnoseLocks(await inspection.locks())
  const health = await inspection.health().catch((error: unknown) => {
    if (objects.length === 0 || !isLacking(error)) throw error
  })
  if (health === undefined) return [...objects, ...locks, ...schema]
  const screening = diagnoseScreening(await inspection.screening())
  onProgress?.('Waiting for a notification …')
  const connection = (await testConnection?.()) ?? untested
  const more = (await findMore?.()) ?? []
  return [...objects, ...locks, ...schema, ...diagnose(health, connection), ...screening, ...more]
}
