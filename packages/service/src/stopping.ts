import { longestTimerMs } from '@outlay/core/adapter'
import type { ServiceContext } from './context.ts'
import { callWithin } from './time-limit.ts'

/** A part of the service that runs until it is stopped. */
export interface Part {
  /** Names it in the log. */
  readonly name: string
  stop(): Promise<void>
  /** How long it waits by its own options, in milliseconds, on top of the limit. */
  readonly waitMs?: number | undefined
}

const defaultLimitMs = 30_000

/**
 * Stops the parts of each stage at once, and a stage when the one before has stopped, could not, or did not in time: a part may wait
 * for a lock that nobody releases. What did not stop is logged. Throws the first failure at the end; one that took too long is none.
 */
export async function stopInStages(
  { logger, stopLimitMs = defaultLimitMs }: Pick<ServiceContext, 'logger' | 'stopLimitMs'>,
  stages: readonly (readonly (Part | undefined)[])[],
): Promise<void> {
  const failures: unknown[] = []
  const stopPart = async ({ name, waitMs = 0, stop }: Part) => {
    let isInTime = true
    try {
      await callWithin(Math.min(stopLimitMs + waitMs, longestTimerMs), ({ signal }) => {
        signal.onabort = () => {
          isInTime = false
        }
        return stop()
      })
    } catch (error) {
      const kind = error instanceof Error ? error.name : typeof error
      logger.warn({ part: name, error: kind }, 'A part of the service did not stop; the others stop without it.')
      if (isInTime) failures.push(error)
    }
  }
  for (const parts of stages) {
    await Promise.all(parts.map((part) => part && stopPart(part)))
  }
  if (failures.length > 0) throw failures[0]
}
