import type { WorkersState } from '@outlay/core'

/** A part of the workers that makes no progress. */
export interface HungPart {
  /** Name of a loop, or `start` or `stop` of the engine. */
  readonly name: string
  /** How long it has made no progress, in milliseconds. */
  readonly forMs: number
}

/**
 * Makes a function that names what hangs: a loop whose turn does not end, beyond what the host's handlers may take in it, and a start or a
 * stop that does not end. It asks nobody. An engine that was never started, or has stopped, hangs nowhere.
 */
export function createLiveness(
  workers: () => WorkersState,
  hungAfterMs: number,
  realTimeMs: () => number = () => performance.now(),
): () => readonly HungPart[] {
  let phase: WorkersState['phase'] = 'stopped'
  let sinceMs = 0
  return () => {
    const state = workers()
    const nowMs = realTimeMs()
    if (state.phase !== phase) {
      phase = state.phase
      sinceMs = nowMs
    }
    const forMs = Math.round(nowMs - sinceMs)
    if (phase === 'starting' || phase === 'stopping')
      return forMs > hungAfterMs ? [{ name: phase === 'starting' ? 'start' : 'stop', forMs }] : []
    return state.loops
      .filter(({ turnMs, hostMs }) => turnMs > hungAfterMs + hostMs)
      .map(({ name, turnMs }) => ({ name, forMs: Math.round(turnMs) }))
  }
}
