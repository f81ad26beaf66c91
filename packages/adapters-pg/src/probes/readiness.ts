import { OutlayError, type WorkersState } from '@outlay/core'

/** Whether a process is ready, and which part is not. */
export interface Readiness {
  /** True when all of the following are true. */
  readonly ready: boolean
  /** The database answers in time. */
  readonly database: boolean
  /** The schema of the engine and of its queue fits this release. */
  readonly schema: boolean
  /** The workers of this process run. */
  readonly workers: boolean
  /** Why the schema does not fit; null otherwise. */
  readonly code: string | null
}

type SchemaState = Pick<Readiness, 'database' | 'schema' | 'code'>

/** What readiness is made of. */
export interface ReadinessOptions {
  readonly check: () => Promise<void>
  readonly workers: () => WorkersState
  /** How long one answer of the database is shared, in milliseconds. */
  readonly cacheMs: number
  /** How long the database may take, in milliseconds. */
  readonly timeoutMs: number
  /** Time that only goes forward, in milliseconds. Default: that of this process. */
  readonly realTimeMs?: (() => number) | undefined
}

/** Checks that may be under way at once, where earlier ones never end because the network drops everything. */
const maxUnderWay = 3

const unreachable: SchemaState = { database: false, schema: false, code: null }

/**
 * Makes a function that says whether the process is ready. It never throws. However often it is called, the database is asked once in
 * `cacheMs`, and no more than three questions wait for an answer. The state of the workers is that of each call.
 */
export function createReadiness(options: ReadinessOptions): () => Promise<Readiness> {
  const { check, workers, cacheMs, timeoutMs, realTimeMs = () => performance.now() } = options
  let underWay = 0
  let current: Promise<SchemaState> | undefined
  let untilMs = Number.POSITIVE_INFINITY

  const ask = async (): Promise<SchemaState> => {
    if (underWay >= maxUnderWay) return unreachable
    underWay += 1
    const asked = readSchema(check).finally(() => {
      underWay -= 1
    })
    return await within(timeoutMs, asked)
  }
  const readShared = () => {
    if (current !== undefined && realTimeMs() < untilMs) return current
    untilMs = Number.POSITIVE_INFINITY
    current = ask().finally(() => {
      untilMs = realTimeMs() + cacheMs
    })
    return current
  }
  return async () => {
    const state = await readShared()
    const isRunning = workers().phase === 'running'
    return { ready: state.schema && isRunning, ...state, workers: isRunning }
  }
}

/** A code of the engine says that the database has answered. Texts of errors stay here: they may name a host or a user. */
async function readSchema(check: () => Promise<void>): Promise<SchemaState> {
  try {
    await check()
    return { database: true, schema: true, code: null }
  } catch (error) {
    return OutlayError.is(error) ? { database: true, schema: false, code: error.code } : unreachable
  }
}

async function within(ms: number, asked: Promise<SchemaState>): Promise<SchemaState> {
  const late = Promise.withResolvers<SchemaState>()
  const timer = setTimeout(() => late.resolve(unreachable), ms)
  try {
    return await Promise.race([asked, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
