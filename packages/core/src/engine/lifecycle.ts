import type { Logger } from '../ports/runtime.ts'
import type { LoopProgress, Workers } from '../ports/work.ts'

/** What a process knows of its own workers. */
export interface WorkersState {
  /** `stopped` before the first start, after a failed one and after a stop. */
  readonly phase: 'stopped' | 'starting' | 'running' | 'stopping'
  /** The loops that run; empty in every other phase. */
  readonly loops: readonly LoopProgress[]
}

/** The workers of one engine, from start to stop and to the next start. */
export interface Lifecycle {
  isRunning(): boolean
  state(): WorkersState
  /** Begins once all earlier workers have ended. If it is stopped before then, nothing is left running. */
  start(begin: () => Promise<Workers>, options: StartOptions): Promise<void>
  /** Resolves when everything has ended, whichever caller stopped it. */
  stop(): Promise<void>
}

/** Options of a start. */
export interface StartOptions {
  readonly signal?: AbortSignal | undefined
  readonly logger: Logger
  /** Called once the workers run; returns a function to call when they stop. */
  readonly onRunning?: (() => () => void) | undefined
}

interface Run {
  readonly workers: Promise<Workers>
  readonly leave: () => void
  /** The workers, once they have started. */
  started?: Workers
  end?: () => void
}

/** Makes the lifecycle of an engine. */
export function createLifecycle(): Lifecycle {
  let current: Run | undefined
  let ending: Promise<void> = Promise.resolve()
  /** Stops that have not ended. */
  let stopping = 0

  const stop = (): Promise<void> => {
    const run = current
    if (run === undefined) return ending
    current = undefined
    run.leave()
    run.end?.()
    stopping += 1
    ending = endWorkers(run.workers).finally(() => {
      stopping -= 1
    })
    return ending
  }
  return {
    isRunning: () => current !== undefined,
    state() {
      const started = current?.started
      if (started !== undefined) return { phase: 'running', loops: started.loops?.() ?? [] }
      if (current !== undefined) return { phase: 'starting', loops: [] }
      return { phase: stopping > 0 ? 'stopping' : 'stopped', loops: [] }
    },
    async start(begin, { signal, logger, onRunning }) {
      if (current !== undefined) throw new Error('The engine is running already; stop() it first.')
      if (signal?.aborted === true) return
      const onAbort = () => {
        stop().catch((error: unknown) => {
          const message = error instanceof Error ? error.message : String(error)
          logger.error({ error: message }, 'The engine failed to stop.')
        })
      }
      signal?.addEventListener('abort', onAbort, { once: true })
      const run: Run = {
        workers: ending.catch(() => undefined).then(begin),
        leave: () => signal?.removeEventListener('abort', onAbort),
      }
      current = run
      try {
        run.started = await run.workers
      } catch (error) {
        run.leave()
        if (current === run) current = undefined
        throw error
      }
      if (current === run && onRunning !== undefined) run.end = onRunning()
    },
    stop,
  }
}

/** Ignores a failed start: its caller gets the error. */
async function endWorkers(workers: Promise<Workers>): Promise<void> {
  const running = await workers.catch(() => undefined)
  await running?.stop()
}
