import type { Plan } from './plan.ts'
import type { Outcome } from './run.ts'

/** Runs that shrinking may take. */
const mostRuns = 40

/**
 * Leaves steps out of a plan for as long as what is left breaks the same invariant. Runs are not wholly determined by
 * their plan, so each candidate gets two tries.
 */
export async function shrink(
  plan: Plan,
  failed: Outcome,
  attempt: (plan: Plan) => Promise<Outcome>,
): Promise<{ readonly plan: Plan; readonly outcome: Outcome }> {
  const wanted = new Set(failed.violations.map(({ invariant }) => invariant))
  const fails = async (candidate: Plan): Promise<Outcome | undefined> => {
    for (let tries = 0; tries < 2; tries += 1) {
      runs += 1
      const outcome = await attempt(candidate)
      if (outcome.violations.some(({ invariant }) => wanted.has(invariant))) return outcome
    }
    return undefined
  }
  let runs = 0
  let best = { plan, outcome: failed }
  for (
    let size = Math.ceil(plan.steps.length / 2);
    size >= 1 && runs < mostRuns;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < best.plan.steps.length && runs < mostRuns; ) {
      const steps = best.plan.steps.toSpliced(start, size)
      const candidate = { ...best.plan, steps }
      const outcome = steps.length === best.plan.steps.length ? undefined : await fails(candidate)
      if (outcome === undefined) start += size
      else best = { plan: candidate, outcome }
    }
  }
  return best
}
