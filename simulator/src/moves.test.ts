import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plantInDatabase } from './bugs/bugs.ts'
import { movingBugs } from './bugs/moving-bugs.ts'
import { type Environment, openEnvironment } from './environment/environment.ts'
import type { PlannedPayout } from './plan/draw.ts'
import type { MoveMoment, MovingStep } from './plan/moves.ts'
import { drawMovingPlan } from './plan/moving-plan.ts'
import type { Step } from './plan/plan.ts'
import { sumMost } from './plan/players.ts'
import { run } from './run/run.ts'

/** Together they have moves that go on, come back and die. */
const seeds = [7, 3_011]

const worker: Step = { do: 'start', worker: 0, skewSeconds: 0 }
const wait = (ms: number): Step => ({ do: 'wait', ms })

const payouts = (first: number, amount: number, kind: PlannedPayout['kind'] = 'token'): readonly PlannedPayout[] =>
  [first, first + 1].map((number) => ({ number, kind, amount }))

const enqueue = (first: number, amount = 2, kind?: PlannedPayout['kind']): Step => ({
  ...({ do: 'enqueue', tenant: 0, rollBack: false } as const),
  payouts: payouts(first, amount, kind),
})

const move = (to: number, dies: MoveMoment | null = null): MovingStep => ({
  ...({ do: 'move', tenant: 0, to, attemptsMs: 300, dies, isAwaited: true } as const),
})

const approve = (payout: number): readonly Step[] => [0, 1].map((by) => ({ do: 'approve', payout, by }))

/** Few steps for each mistake, in which nothing is left to chance. */
const plans: Readonly<Record<string, readonly Step[]>> = {
  a_key_is_free_where_its_account_was: [
    worker,
    { do: 'enqueue_across', tenant: 0, payouts: payouts(0, 2), isSnapshot: false, forMs: null },
  ],
  the_route_is_switched_before_the_copy: [enqueue(0), move(1)],
  a_move_goes_back_after_the_hand_over: [enqueue(0), move(1, { at: 'unpack', phase: 'after', nth: 1 }), move(0)],
  events_come_again_where_an_account_arrives: [worker, enqueue(0, 2, 'refused'), wait(1_000), move(1)],
  events_stay_where_their_account_was: [enqueue(0), move(1)],
  what_limits_have_counted_stays_where_it_was: [
    { do: 'set_limits', most: sumMost },
    worker,
    enqueue(0, 12),
    wait(1_000),
    move(1),
    enqueue(2, 12),
    wait(1_000),
  ],
  attempts_stay_where_their_account_was: [worker, enqueue(0, 2, 'refused'), wait(1_000), move(1)],
  approvals_stay_where_their_account_was: [
    { do: 'set_policies', from: 5 },
    enqueue(0, 25),
    ...[0, 1].flatMap(approve),
    move(1),
  ],
}

describe('the simulator of hosts with two databases', () => {
  let environment: Environment
  beforeAll(async () => {
    environment = await openEnvironment(undefined, true)
  }, 120_000)
  afterAll(() => environment[Symbol.asyncDispose]())

  it.each(seeds)(
    'finds nothing where accounts move in seed %i',
    async (seed) => {
      const { violations, trace } = await run(environment, drawMovingPlan(seed), undefined)
      expect({ violations, trace: violations.length > 0 ? trace : [] }).toEqual({ violations: [], trace: [] })
    },
    300_000,
  )

  it.each(movingBugs.map((bug) => [bug.name, bug] as const))(
    'finds %s in a plan of few steps',
    async (name, bug) => {
      const plan = { seed: 1, tenants: 1, sharesClient: false, hasNodes: true, steps: plans[name] ?? [] }
      const undo = await Promise.all(
        environment.nodes.map(({ host }) => plantInDatabase(bug, { host, service: environment.service })),
      )
      const { violations } = await run(environment, plan, bug).finally(() => Promise.all(undo.map((one) => one())))
      expect(violations.map(({ invariant }) => invariant)).toEqual(expect.arrayContaining([bug.breaks[0]]))
    },
    300_000,
  )
})
