import type { Course, Happening } from '../order/course.ts'
import type { Patience } from '../order/line.ts'
import type { Plan } from '../plan/plan.ts'
import type { Outcome, RunOptions } from '../run/run.ts'

/** Runs that shrinking may use, without those that confirm, and how long it may run, in milliseconds. */
const most = { runs: 80, ms: 300_000 }

/** How often a plan has to fail in a row, in the order that was recorded of it, to be the one that is kept. */
const sureRuns = 5

/** Plans that are tried for one that always fails again: the last ones that failed, and the first. */
const mostChoices = 4

/** A plan that fails, and how it went. */
export interface Failing {
  readonly plan: Plan
  readonly outcome: Outcome
  /** How often it failed again of so many runs in the same order. */
  readonly again: { readonly failed: number; readonly of: number }
}

/** How a plan is tried. */
export interface ShrinkOptions {
  readonly attempt: (plan: Plan, options: Pick<RunOptions, 'earlier' | 'patience'>) => Promise<Outcome>
  /** What is under way, in words. */
  readonly onProgress?: ((text: string) => void) | undefined
}

/** Patience with a course that is that of a longer plan. */
const guided: Patience = { ms: 300, endMs: 2_000, shortMs: 50, misses: 4 }

/** Runs a plan once more in the order that was recorded of it; answers with whether it fails again. */
type FailsAgain = (one: Pick<Failing, 'plan' | 'outcome'>) => Promise<boolean>

interface Attempted extends Pick<Failing, 'plan' | 'outcome'> {
  /** Whether it failed once more in the order that was recorded of it. */
  readonly isConfirmed: boolean
}

/**
 * Leaves steps out of a plan for as long as what is left breaks the same invariant. Long plans have much in them that no order
 * holds; but once one has failed again in the order that was recorded of it, each shorter one has to. The shortest counts that
 * then fails several times in a row.
 */
export async function shrink(plan: Plan, failed: Outcome, { attempt, onProgress }: ShrinkOptions): Promise<Failing> {
  const wanted = new Set(failed.violations.map(({ invariant }) => invariant))
  const until = performance.now() + most.ms
  const found: Attempted[] = []
  let runs = 0
  const mayGoOn = () => runs < most.runs && performance.now() < until
  const run: ShrinkOptions['attempt'] = (candidate, options) => {
    runs += 1
    return attempt(candidate, options)
  }
  const isWanted = ({ violations }: Outcome) => violations.some(({ invariant }) => wanted.has(invariant))
  const failsAgain: FailsAgain = async (one) => isWanted(await run(one.plan, { earlier: one.outcome.course }))
  const first = { plan, outcome: failed, isConfirmed: await failsAgain({ plan, outcome: failed }) }
  let best: Attempted = first
  const tryOut = async (candidate: Plan, earlier: Course): Promise<Attempted | undefined> => {
    for (const options of [{ earlier, patience: guided }, {}]) {
      if (!mayGoOn()) return undefined
      const outcome = await run(candidate, options)
      if (isWanted(outcome)) {
        const isConfirmed = await failsAgain({ plan: candidate, outcome })
        if (isConfirmed || !best.isConfirmed) return { plan: candidate, outcome, isConfirmed }
      }
      // What holds in the very order in which the longer plan failed does not need its chance in another one.
      if (outcome.enforced.missed === 0 && !isWanted(outcome)) return undefined
    }
    return undefined
  }
  for (
    let size = Math.ceil(plan.steps.length / 2);
    size >= 1 && mayGoOn();
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < best.plan.steps.length && mayGoOn(); ) {
      const left = best.plan.steps.length
      onProgress?.(`shrinking: ${left} of ${plan.steps.length} steps left, ${runs} of ${most.runs} runs`)
      const steps = best.plan.steps.toSpliced(start, size)
      const candidate = { ...best.plan, steps }
      const guide = leaveOut(best.outcome.course, best.plan, start, size)
      const shorter = steps.length === 0 ? undefined : await tryOut(candidate, guide)
      if (shorter === undefined) start += size
      else {
        best = shorter
        found.unshift(best)
      }
    }
  }
  return chooseSure([...found.slice(0, mostChoices - 1), first], failsAgain, onProgress)
}

/** The first of some plans, each longer than the one before, that fails whenever it is run; else the one that does so most often. */
async function chooseSure(
  found: readonly Attempted[],
  failsAgain: FailsAgain,
  onProgress: ShrinkOptions['onProgress'],
): Promise<Failing> {
  let best: Failing | undefined
  for (const one of found) {
    let failed = 0
    let of = 0
    while (of < sureRuns && failed === of) {
      onProgress?.(`making sure: ${one.plan.steps.length} steps failed ${failed} of ${sureRuns} times`)
      of += 1
      if (await failsAgain(one)) failed += 1
    }
    if (best === undefined || failed > best.again.failed)
      best = { plan: one.plan, outcome: one.outcome, again: { failed, of } }
    if (failed === sureRuns) break
  }
  return best as Failing
}

/** The course of a run without some of its steps, so far as that can be known. */
export function leaveOut({ happened, befell }: Course, { steps }: Plan, start: number, count: number): Course {
  const gone = new Set(
    steps
      .slice(start, start + count)
      .flatMap((step) => ('payouts' in step ? step.payouts.map(({ number }) => number) : [])),
  )
  let current = -1
  const keep = (one: Happening): readonly Happening[] => {
    if (one.actor === 'plan') {
      const index = /^step (\d+)$/.exec(one.what)?.[1]
      if (index !== undefined) current = Number(index)
      if (current >= start && current < start + count) return []
      return [index === undefined || current < start ? one : { ...one, what: `step ${current - count}` }]
    }
    const payouts = one.payouts.filter((payout) => !gone.has(payout))
    return one.payouts.length > 0 && payouts.length === 0 ? [] : [{ ...one, payouts }]
  }
  return { happened: happened.flatMap(keep), befell }
}
