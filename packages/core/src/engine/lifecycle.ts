import type { Logger } from '../ports/runtime.ts'
import type { Workers } from '../ports/work.ts'

/** The workers of one engine, from start to stop and to the next start. */
export interface Lifecycle {
  isRunning(): boolean
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
  end?: () => void
}

/** Makes the lifecycle of an engine. */
export function createLifecycle(): Lifecycle {
  let current: Run | undefined
  let ending: Promise<void> = Promise.resolve()

  const stop = (): Promise<void> => {
    const run = current
    if (run === undefined) return ending
    current = undefined
    run.leave()
    run.end?.()
    ending = endWorkers(run.workers)
    return ending
  }
  return {
    isRunning: () => current !== undefined,
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
        await run.workers
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
