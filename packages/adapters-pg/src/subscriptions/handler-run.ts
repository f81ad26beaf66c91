import { setTimeout as delay } from 'node:timers/promises'
import type { HandlerContext, TransferEvent } from '@outlay/core'

/** Limits and callbacks of the handlers of one transaction. */
export interface HandlerRunOptions {
  /** Longest time of one event, in milliseconds. */
  readonly timeoutMs: number
  /** Time after which the server has ended the session, in milliseconds. */
  readonly serverEndsMs: number
  /** Ends the handler that runs, at once. */
  readonly signal: AbortSignal
  /** Called with a failure before the transaction is rolled back. */
  readonly onFailed: (event: TransferEvent) => void
}

/** The handlers of one transaction. */
export type HandlerRun = ReturnType<typeof createHandlerRun>

/** How long a library may take to notice that its connection is gone, in milliseconds; after that it is not waited for. */
const abandonMs = 5_000

/** How many times ending a session is tried, a second apart. */
const terminateTries = 30

/**
 * Runs the handlers of one transaction, each within its time. When the time is over, this ends the session first and gives
 * the handler up only then: a library that rolled back would give the connection, and with it the writes of a handler that
 * still runs, to another caller.
 */
export function createHandlerRun({ timeoutMs, serverEndsMs, signal, onFailed }: HandlerRunOptions) {
  let current: TransferEvent | undefined
  let exceeded = false
  let stopped = false
  let abandon: (error: Error) => void
  const abandoned = new Promise<never>((_, reject) => {
    abandon = reject
  })
  abandoned.catch(() => undefined)

  const endSession = async (error: Error, terminate: () => Promise<void>): Promise<never> => {
    // Where this session holds the only connection, the server ends it.
    await Promise.race([keepTerminating(terminate), delay(serverEndsMs, undefined, { ref: false })])
    setTimeout(() => abandon(error), abandonMs).unref()
    throw error
  }
  return {
    /** The event that is being handled, or the first of those that are handled together. */
    current: () => current,
    hasExceeded: () => exceeded,
    isStopped: () => stopped,
    /** Runs the handler once; rejects when it fails, when its time is over or when the engine stops. */
    async handle(
      [event]: readonly TransferEvent[],
      call: (context: HandlerContext) => Promise<void>,
      terminate: () => Promise<void>,
    ): Promise<void> {
      current = event
      const controller = new AbortController()
      let ending: Promise<never> | undefined
      let startEnding: (error: Error) => void = () => undefined
      const ended = new Promise<never>((_, reject) => {
        startEnding = (error) => {
          if (ending !== undefined) return
          if (event !== undefined) onFailed(event)
          ending = endSession(error, terminate)
          ending.catch(reject)
          controller.abort(error)
        }
      })
      ended.catch(() => undefined)
      const onStop = () => {
        stopped = true
        startEnding(new Error('The engine stops.'))
      }
      const timer = setTimeout(() => {
        exceeded = true
        startEnding(new Error(`The handler did not end within ${timeoutMs} ms.`))
      }, timeoutMs)
      signal.addEventListener('abort', onStop, { once: true })
      try {
        if (signal.aborted) onStop()
        else
          await Promise.race([
            ended,
            call({ signal: controller.signal }).catch((error) => ending ?? Promise.reject(error)),
          ])
        await ending
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', onStop)
      }
    },
    /** Waits for the transaction, but not longer than for its session. */
    orAbandoned: <T>(transaction: Promise<T>): Promise<T> => Promise.race([transaction, abandoned]),
  }
}

async function keepTerminating(terminate: () => Promise<void>): Promise<void> {
  for (let tries = 1; tries <= terminateTries; tries += 1) {
    const isDone = await terminate().then(
      () => true,
      () => false,
    )
    if (isDone) return
    await delay(1_000, undefined, { ref: false })
  }
}
