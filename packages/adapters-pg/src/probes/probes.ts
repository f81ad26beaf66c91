import '@outlay/core/node-version'
import type { Engine } from '@outlay/core'
import { checkNames, checkNumbers, timerRange } from '@outlay/core/adapter'
import { createLiveness } from './liveness.ts'
import { type FetchHandler, nodeListener } from './node-listener.ts'
import { createOutage } from './outage.ts'
import { createReadiness } from './readiness.ts'

export type { HungPart } from './liveness.ts'
export { type FetchHandler, nodeListener } from './node-listener.ts'
export { createReadiness, type Readiness, type ReadinessOptions } from './readiness.ts'

/** How probes decide, and what is answered beside them. */
export interface ProbesOptions {
  /**
   * How long a loop of the workers may make no progress before the process is not alive, in milliseconds. It is longer than a table is
   * locked by an ordinary migration. Default 300 000.
   */
  readonly hungAfterMs?: number | undefined
  /** How long one answer of the database is shared by all who ask, in milliseconds. Default 1 000. */
  readonly cacheMs?: number | undefined
  /** How long the database may take to answer, in milliseconds. Default 2 000. */
  readonly timeoutMs?: number | undefined
  /** Answers `/metrics`, such as `handle` of `prometheus()` in `@outlay/opentelemetry/prometheus`. Default: not found. */
  readonly metrics?: FetchHandler | undefined
}

/** Probes of one process, for any server. */
export interface Probes {
  /** Answers paths that end with `/live`, `/ready` or `/metrics`, below any prefix; 404 for others, and 405 for what is not a read. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same as a listener of `node:http`. */
  readonly listener: ReturnType<typeof nodeListener>
}

/**
 * Makes the probes of a process that runs an engine.
 *
 * `/live` is 200 while every loop of the workers turns, and 503 with the names of those that hang. It asks the database only while something
 * hangs, and what waits for one that does not answer is no hang: for an hour at most, since a pool whose connections have all died seems the
 * same. `/ready` is 200 when the database answers, the schema fits this release and the workers run.
 * @throws Error for an option that does not exist or is out of range.
 *
 * @example
 * createServer(createProbes(engine).listener).listen(8080)
 */
export function createProbes<Tx>(engine: Pick<Engine<Tx>, 'workers' | 'check'>, options: ProbesOptions = {}): Probes {
  checkNames(options, ['hungAfterMs', 'cacheMs', 'timeoutMs', 'metrics'])
  const { hungAfterMs = 300_000, cacheMs = 1_000, timeoutMs = 2_000, metrics } = options
  checkNumbers(
    { hungAfterMs, cacheMs, timeoutMs },
    { hungAfterMs: timerRange, cacheMs: { min: 0 }, timeoutMs: timerRange },
  )
  const workers = () => engine.workers()
  const findHung = createLiveness(workers, hungAfterMs)
  const readReadiness = createReadiness({ check: () => engine.check(), workers, cacheMs, timeoutMs })
  const findFaults = createOutage({ isAnswering: async () => (await readReadiness()).database, hungAfterMs })

  const fetch: Probes['fetch'] = async (request) => {
    const name = /\/(live|ready|metrics)\/?$/.exec(new URL(request.url).pathname)?.[1]
    if (name === undefined || (name === 'metrics' && metrics === undefined)) return answer(404, { error: 'not_found' })
    if (request.method !== 'GET' && request.method !== 'HEAD') return answer(405, { error: 'method_not_allowed' })
    if (name === 'live') {
      const hanging = findHung()
      const hung = await findFaults(hanging)
      const waiting = hung.length === 0 && hanging.length > 0 ? { waiting: hanging } : {}
      return answer(hung.length === 0 ? 200 : 503, { live: hung.length === 0, hung, ...waiting })
    }
    if (name === 'ready') {
      const readiness = await readReadiness()
      return answer(readiness.ready ? 200 : 503, readiness)
    }
    return (await metrics?.(request)) ?? answer(404, { error: 'not_found' })
  }
  return { fetch, listener: nodeListener(fetch) }
}

function answer(status: number, body: object): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } })
}
