import { setTimeout } from 'node:timers/promises'

/** Keeps statements and what no statement may be under way for apart. */
export interface Gate {
  /** Runs a statement. */
  enter<T>(run: () => Promise<T>): Promise<T>
  /** Runs while no statement is under way, unless one takes very long. */
  alone<T>(run: () => Promise<T>): Promise<T>
}

/** How long statements that are under way are waited for, in milliseconds. */
const patienceMs = 1_000

/** Makes a gate. */
export function createGate(): Gate {
  let inside = 0
  let shut: Promise<void> | undefined
  return {
    async enter(run) {
      while (shut !== undefined) await shut
      inside += 1
      try {
        return await run()
      } finally {
        inside -= 1
      }
    },
    async alone(run) {
      while (shut !== undefined) await shut
      const { promise, resolve } = Promise.withResolvers<void>()
      shut = promise
      try {
        const until = performance.now() + patienceMs
        while (inside > 0 && performance.now() < until) await setTimeout(2)
        return await run()
      } finally {
        shut = undefined
        resolve()
      }
    },
  }
}
