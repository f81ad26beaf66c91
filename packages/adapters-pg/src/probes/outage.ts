import type { HungPart } from './liveness.ts'

/** How a hang is judged. */
export interface OutageOptions {
  /** Whether the database answers now. It is asked only while something hangs. */
  readonly isAnswering: () => Promise<boolean>
  readonly hungAfterMs: number
  /** Time that only goes forward, in milliseconds. Default: that of this process. */
  readonly realTimeMs?: (() => number) | undefined
}

/**
 * How long an outage may explain a hang, in milliseconds. A pool without limits, whose connections have all died in silence, seems to be a
 * database that is away: only a new process ends that.
 */
const longestOutageMs = 3_600_000

/**
 * Makes a function that returns those of the hanging parts that are a fault of this process. What waits for a database that does not answer is
 * none, and when it answers again, all parts have `hungAfterMs` to notice it.
 */
export function createOutage(options: OutageOptions): (hanging: readonly HungPart[]) => Promise<readonly HungPart[]> {
  const { isAnswering, hungAfterMs, realTimeMs = () => performance.now() } = options
  let awaySinceMs: number | undefined
  let lastAwayMs = Number.NEGATIVE_INFINITY
  return async (hanging) => {
    if (hanging.length === 0) {
      awaySinceMs = undefined
      return hanging
    }
    const isAway = !(await isAnswering())
    const nowMs = realTimeMs()
    if (isAway) lastAwayMs = nowMs
    awaySinceMs = isAway ? (awaySinceMs ?? nowMs) : undefined
    if (awaySinceMs !== undefined && nowMs - awaySinceMs > longestOutageMs) return hanging
    return nowMs - lastAwayMs <= hungAfterMs ? [] : hanging
  }
}
