import type { Bug } from '../bugs/bug.ts'
import { bugs } from '../bugs/bugs.ts'
import { type Environment, openEnvironment } from '../environment/environment.ts'
import { type Court, openCourt } from '../judging/court.ts'
import { drawMovingPlan } from '../plan/moving-plan.ts'
import { drawPlan, type Plan } from '../plan/plan.ts'
import { type Player, players } from '../plan/players.ts'
import { type Outcome, run } from '../run/run.ts'
import type { InvariantName, Violation } from '../violation.ts'
import { knownMistakes } from './known.ts'
import type { KeptFailure } from './replay.ts'
import { type ShrinkOptions, shrink } from './shrink.ts'

/** What a campaign is to do. */
export interface CampaignOptions {
  readonly seeds: readonly number[]
  /** Stops before the next seed when this many minutes are over. */
  readonly minutes?: number | undefined
  readonly bug?: Bug | undefined
  /** The players that take part. Default: all but those that find what is known. */
  readonly players?: ReadonlySet<Player> | undefined
  /** Whether hosts have two databases, between which accounts move. Then the players and the judge stay away. Default false. */
  readonly hasNodes?: boolean | undefined
  /** Runs side by side, each with a server and a service of its own. Default 1. */
  readonly parallel?: number | undefined
  /** Goes on after a seed that fails; the last one is the failure. Default false. */
  readonly keepsGoing?: boolean | undefined
  /** Makes a failing plan smaller. Default true. */
  readonly shrinks?: boolean | undefined
  /** The judge checks one in so many seeds. Default none. */
  readonly judgeEvery?: number | undefined
  /** Only these count. Default: all. */
  readonly wanted?: readonly InvariantName[] | undefined
  readonly onSeed?: (seed: number, outcome: Outcome) => void
  /** Reports the progress of shrinking a plan. */
  readonly onShrink?: ((text: string) => void) | undefined
}

/** A seed that broke an invariant. */
export interface Failure {
  readonly seed: number
  readonly violations: readonly Violation[]
  /** The shortest plan found that still does. */
  readonly trace: readonly string[]
  /** The same as it is kept for a replay. */
  readonly kept: KeptFailure
}

/** What a campaign found. */
export interface CampaignResult {
  readonly seeds: number
  readonly payouts: number
  readonly faults: number
  readonly seconds: number
  readonly failure: Failure | undefined
}

/** Runs one environment is used for; then the service's database has grown enough. */
const runsPerEnvironment = 150

/** Runs seeds until one fails, `parallel` of them at once. */
export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const began = performance.now()
  const seconds = () => (performance.now() - began) / 1_000
  const { bug, hasNodes = bug?.hasNodes ?? false } = options
  const playing =
    options.players ?? new Set(players.filter((one) => knownMistakes.every(({ player }) => player !== one)))
  const totals = { seeds: 0, payouts: 0, faults: 0 }
  const left = options.seeds.values()
  let failure: Failure | undefined
  const nextSeed = () => {
    const isOver =
      (failure !== undefined && options.keepsGoing !== true) ||
      (options.minutes !== undefined && seconds() > options.minutes * 60)
    return isOver ? undefined : left.next().value
  }
  const useEnvironment = async () => {
    await using environment = await openEnvironment(bug, hasNodes)
    await using court = options.judgeEvery === undefined || hasNodes ? undefined : await openCourt(environment)
    for (let used = 0; used < runsPerEnvironment; used += 1) {
      const seed = nextSeed()
      if (seed === undefined) return false
      const judged = seed % (options.judgeEvery ?? 1) === 0 ? court : undefined
      const plan = hasNodes ? drawMovingPlan(seed) : drawPlan(seed, playing)
      const outcome = await run(environment, plan, bug, { court: judged })
      totals.seeds += 1
      totals.payouts += outcome.payouts
      totals.faults += outcome.faults
      options.onSeed?.(seed, outcome)
      const violations = outcome.violations.filter(({ invariant }) => options.wanted?.includes(invariant) ?? true)
      if (violations.length === 0 || (failure !== undefined && options.keepsGoing !== true)) {
        if (outcome.hangs) return true
        continue
      }
      failure = describe(plan, { ...outcome, violations }, bug)
      // What hangs is still there, and would be for every shorter plan.
      if (outcome.hangs) return true
      if (options.shrinks !== false)
        failure = await explain(environment, plan, { ...outcome, violations }, bug, judged, options.onShrink)
    }
    return true
  }
  const keepGoing = async () => {
    while (await useEnvironment());
  }
  await Promise.all(Array.from({ length: options.parallel ?? 1 }, keepGoing))
  return { ...totals, seconds: seconds(), failure }
}

/** Finds a mistake by its name. */
export function findBug(name: string | undefined): Bug | undefined {
  if (name === undefined) return undefined
  const found = bugs.find((bug) => bug.name === name)
  if (found === undefined)
    throw new Error(`There is no bug "${name}"; there are ${bugs.map((bug) => bug.name).join(', ')}.`)
  return found
}

async function explain(
  environment: Environment,
  plan: Plan,
  outcome: Outcome,
  bug: Bug | undefined,
  court: Court | undefined,
  onProgress: CampaignOptions['onShrink'],
): Promise<Failure> {
  const attempt: ShrinkOptions['attempt'] = (candidate, how) => run(environment, candidate, bug, { court, ...how })
  const least = await shrink(plan, outcome, { attempt, onProgress })
  return describe(least.plan, least.outcome, bug, least.again)
}

function describe(
  plan: Plan,
  { violations, trace, course }: Outcome,
  bug: Bug | undefined,
  again = { failed: 0, of: 0 },
): Failure {
  const broken = [...new Set(violations.map(({ invariant }) => invariant))]
  return { seed: plan.seed, violations, trace, kept: { bug: bug?.name ?? null, broken, plan, course, again } }
}
