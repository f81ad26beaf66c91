import { setTimeout } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'

/** How a start is repeated. */
export interface StartOptions {
  /** Ends the wait for the next try. */
  readonly signal: AbortSignal
  /** Receives each failure, and when it is tried again. */
  readonly onFailure: (failure: { readonly error: string; readonly againInMs: number }) => void
  /** Waits. Default: for that long, or until the signal. */
  readonly pause?: ((ms: number, signal: AbortSignal) => Promise<unknown>) | undefined
}

const pauseMs = { first: 1_000, longest: 30_000 }

/**
 * Starts what needs a database, and again while that is away, in pauses that double from one second to thirty: a process that ended instead
 * would be replaced by one that ends too. What the engine refuses, such as a schema that is not migrated, is thrown at once. Returns whether it
 * has started; it has not where the signal came first.
 */
export async function startWhenReachable(
  start: () => Promise<void>,
  { signal, onFailure, pause = wait }: StartOptions,
): Promise<boolean> {
  for (let tries = 0; !signal.aborted; tries += 1) {
    try {
      await start()
      return true
    } catch (error) {
      if (OutlayError.is(error)) throw error
      const againInMs = Math.min(pauseMs.longest, pauseMs.first * 2 ** Math.min(tries, 10))
      onFailure({ error: error instanceof Error ? error.message : String(error), againInMs })
      await pause(againInMs, signal)
    }
  }
  return false
}

const wait: NonNullable<StartOptions['pause']> = (ms, signal) =>
  setTimeout(ms, undefined, { signal }).catch(() => undefined)
