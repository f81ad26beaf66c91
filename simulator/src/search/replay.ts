import { mkdir, readFile, writeFile } from 'node:fs/promises'
import type { Bug } from '../bugs/bug.ts'
import { openEnvironment } from '../environment/environment.ts'
import { openCourt } from '../judging/court.ts'
import type { Course } from '../order/course.ts'
import type { Plan } from '../plan/plan.ts'
import { type Outcome, run } from '../run/run.ts'
import type { InvariantName } from '../violation.ts'

/** A failure as it is kept, to be had again. */
export interface KeptFailure {
  /** Name of the mistake that was planted; null for none. */
  readonly bug: string | null
  readonly broken: readonly InvariantName[]
  readonly plan: Plan
  readonly course: Course
  /** How often it failed again of so many runs in the same order, when it was found. */
  readonly again: { readonly failed: number; readonly of: number }
}

/** Keeps a failure in a file; answers with its path. */
export async function keepFailure(folder: string, failure: KeptFailure): Promise<string> {
  await mkdir(folder, { recursive: true })
  const path = `${folder}/${failure.plan.seed}${failure.bug === null ? '' : `-${failure.bug}`}.json`
  await writeFile(path, `${JSON.stringify(failure)}\n`)
  return path
}

/** Reads a failure that {@link keepFailure} wrote. */
export async function readFailure(path: string): Promise<KeptFailure> {
  return JSON.parse(await readFile(path, 'utf8')) as KeptFailure
}

/** Runs the plan of a failure again and again in the order that was recorded; answers with how often it failed again. */
export async function replay(
  { plan, course, broken }: KeptFailure,
  bug: Bug | undefined,
  times: number,
  onRun: (fails: boolean, outcome: Outcome) => void,
): Promise<number> {
  await using environment = await openEnvironment(bug, plan.hasNodes)
  await using court = broken.includes('judge') ? await openCourt(environment) : undefined
  let failed = 0
  for (let runs = 0; runs < times; runs += 1) {
    const outcome = await run(environment, plan, bug, { court, earlier: course })
    const fails = outcome.violations.some(({ invariant }) => broken.includes(invariant))
    if (fails) failed += 1
    onRun(fails, outcome)
  }
  return failed
}
