import type { EngineOptions } from '@outlay/core'
import type { WorkHandlers } from '@outlay/core/adapter'

/**
 * Points at which a process may be killed, in the order in which one transfer reaches them.
 *
 * - `enqueue_written`: the rows of an enqueue are written in the host's transaction, which has not committed
 * - `enqueue_committed`: that transaction has committed, and its caller was not notified
 * - `claimed`: the claim is committed, and no byte is sent
 * - `request_left`: the request is sent, and the service has not received it
 * - `answer_on_its_way`: the service has acted and answered, and the worker has not received the answer
 * - `answered`: the worker has the answer and has written none of it
 * - `settling`: the transaction that writes the answer is under way in the database
 * - `polled`: the worker has polled a status and has written none of it
 * - `handler_started`: a subscription's transaction is open, its handler has not run
 * - `handler_done`: the handler has run, its transaction has not committed
 * - `handler_committed`: the transaction with the handler's writes and the acknowledgement has committed
 */
export const crashPointNames = [
  'enqueue_written',
  'enqueue_committed',
  'claimed',
  'request_left',
  'answer_on_its_way',
  'answered',
  'settling',
  'polled',
  'handler_started',
  'handler_done',
  'handler_committed',
] as const

/** One of {@link crashPointNames}. */
export type CrashPoint = (typeof crashPointNames)[number]

/** The variable that names the point at which a process stops. */
export const crashPointVariable = 'OUTLAY_CRASH_POINT'

/** The part of a driver that opens transactions. */
interface Transactional<Tx> {
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
}

/** The crash points of one process. Without a named point, they have no effect. */
export interface CrashPoints {
  /** Adds the points to an engine. Pass the result to `createEngine`. */
  engine<Tx>(options: EngineOptions<Tx>): EngineOptions<Tx>
  /**
   * Adds `enqueue_committed` and `handler_committed` to a driver. Pass the result to the backend. An enqueue counts if the driver
   * opened its transaction; otherwise call {@link CrashPoints.reach} after the commit.
   */
  driver<Tx, D extends Transactional<Tx>>(driver: D & Transactional<Tx>): D
  /** Marks a point, the host's own or a named one. The process stops here forever if the variable names the point. */
  reach(point: CrashPoint | (string & {})): Promise<void>
}

/**
 * Makes the crash points of a process, for the entry of a worker that tests start. `env` names one of them in
 * `OUTLAY_CRASH_POINT`. The process notifies its parent when it reaches the point, and stops there until it is killed.
 *
 * `request_left`, `answer_on_its_way` and `settling` are outside the process: only `spawnUntil` has them.
 *
 * @example
 * const crash = crashPoints(process.env)
 * const backend = postgres({ driver: crash.driver(pgDriver(pool)) })
 * const engine = createEngine(crash.engine({ backend, gateway }))
 */
export function crashPoints(env: Readonly<Record<string, string | undefined>>): CrashPoints {
  const wanted = env[crashPointVariable]
  const reach: CrashPoints['reach'] = async (point) => {
    if (point === wanted) await standStill(point)
  }
  // Events of an open transaction, which count when it has committed.
  const enqueued = new WeakSet<object>()
  const handled = new WeakSet<object>()
  return {
    reach,
    engine: (options) => wrapEngine(options, reach, { enqueued, handled }),
    driver: (driver) => ({
      ...driver,
      async transaction(work) {
        let used: unknown
        const result = await driver.transaction((tx) => {
          used = tx
          // A pooled connection keeps state of its earlier use.
          forget(enqueued, tx)
          forget(handled, tx)
          return work(tx)
        })
        if (isIn(enqueued, used)) await reach('enqueue_committed')
        if (isIn(handled, used)) await reach('handler_committed')
        return result
      },
    }),
  }
}

interface Marks {
  readonly enqueued: WeakSet<object>
  readonly handled: WeakSet<object>
}

function wrapEngine<Tx>(
  options: EngineOptions<Tx>,
  reach: CrashPoints['reach'],
  { enqueued, handled }: Marks,
): EngineOptions<Tx> {
  const { backend } = options
  const wrapHandlers = (handlers: WorkHandlers<Tx>): WorkHandlers<Tx> => ({
    ...handlers,
    async submit(...call) {
      await reach('claimed')
      const settlement = await handlers.submit(...call)
      await reach('answered')
      return settlement
    },
    async poll(...call) {
      const readings = await handlers.poll(...call)
      if (readings.observations.length > 0) await reach('polled')
      return readings
    },
    subscriptions: handlers.subscriptions.map((subscription) => ({
      ...subscription,
      async handler(event, tx, context) {
        await reach('handler_started')
        await subscription.handler(event, tx, context)
        mark(handled, tx)
        await reach('handler_done')
      },
    })),
  })
  return {
    ...options,
    backend: {
      ...backend,
      async enqueue(tx, ...call) {
        const written = await backend.enqueue(tx, ...call)
        if (Array.isArray(written)) {
          mark(enqueued, tx)
          await reach('enqueue_written')
        }
        return written
      },
      work: (handlers, work) => backend.work(wrapHandlers(handlers), work),
    },
  }
}

async function standStill(at: string): Promise<void> {
  if (process.send === undefined) process.stdout.write(`${JSON.stringify({ at })}\n`)
  else process.send({ at })
  await new Promise(() => setInterval(() => undefined, 60_000))
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

const isIn = (marks: WeakSet<object>, tx: unknown): boolean => isObject(tx) && marks.has(tx)

function mark(marks: WeakSet<object>, tx: unknown): void {
  if (isObject(tx)) marks.add(tx)
}

function forget(marks: WeakSet<object>, tx: unknown): void {
  if (isObject(tx)) marks.delete(tx)
}
