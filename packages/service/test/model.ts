import process from 'node:process'
import type { Parameters } from 'fast-check'

/** Where tests decide about a change, generated ones are the same each time: a failure is that of the change. */
export const seedOfCI: { readonly seed?: number } = process.env['CI'] === undefined ? {} : { seed: 7_000 }

/** How a model-based test runs. */
export interface ModelRuns {
  readonly parameters: Parameters<unknown>
  /** Time for all of the runs, in milliseconds, on a machine that is busy. */
  readonly timeoutMs: number
}

/**
 * The runs of a model-based test: `numRuns`, or as many as `OUTLAY_MODEL_RUNS` says. A failure prints its seed, and
 * `OUTLAY_MODEL_SEED` repeats the runs of that seed. Where `CI` is set they are the same ones each time.
 */
export function modelRuns(numRuns: number): ModelRuns {
  const runs = Number(process.env['OUTLAY_MODEL_RUNS'] ?? numRuns)
  const seed = process.env['OUTLAY_MODEL_SEED']
  return {
    // The search for a smaller counterexample costs requests, so it is limited.
    parameters: {
      numRuns: runs,
      interruptAfterTimeLimit: runs * 20_000,
      ...(seed === undefined ? seedOfCI : { seed: Number(seed) }),
    },
    timeoutMs: 120_000 + runs * 20_000,
  }
}

/** Every order of some things. */
export function ordersOf<T>(things: readonly T[]): readonly (readonly T[])[] {
  if (things.length <= 1) return [things]
  return things.flatMap((first, at) => ordersOf(things.toSpliced(at, 1)).map((rest) => [first, ...rest]))
}
