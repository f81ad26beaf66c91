import { expect, it } from 'vitest'
import type { Course } from '../order/course.ts'
import type { Plan } from '../plan/plan.ts'
import type { Outcome, RunOptions } from '../run/run.ts'
import { leaveOut, shrink } from './shrink.ts'

const wait = (ms: number) => ({ do: 'wait', ms }) as const
const enqueue = (number: number) =>
  ({ do: 'enqueue', tenant: 0, payouts: [{ number, kind: 'token', amount: 1 }], rollBack: false }) as const

const planOf = (steps: Plan['steps']): Plan => ({ seed: 1, tenants: 1, sharesClient: false, steps })
const course: Course = { happened: [], befell: [] }
const outcomeOf = (fails: boolean): Outcome => ({
  violations: fails ? [{ invariant: 'one_effect', detail: '' }] : [],
  ...{
    trace: [],
    payouts: 0,
    faults: 0,
    hangs: false,
    course,
    enforced: { kept: 0, missed: 0, firstMissed: undefined },
  },
})

const has = ({ steps }: Plan, ms: number) => steps.some((step) => step.do === 'wait' && step.ms === ms)
const plan = planOf(Array.from({ length: 9 }, (_, ms) => wait(ms)))

it('keeps the steps without which a plan does not fail, and says how far it is', async () => {
  const reported: string[] = []
  const attempt = async (candidate: Plan) => outcomeOf(has(candidate, 3) && has(candidate, 7))
  const found = await shrink(plan, outcomeOf(true), { attempt, onProgress: (text) => reported.push(text) })
  expect(found.plan.steps).toEqual([wait(3), wait(7)])
  expect(found.again).toEqual({ failed: 5, of: 5 })
  expect(reported.at(0)).toBe('shrinking: 9 of 9 steps left, 1 of 80 runs')
  expect(reported.at(-1)).toBe('making sure: 2 steps failed 4 of 5 times')
})

it('accepts no plan that does not fail again in its recorded order', async () => {
  // Without the fifth step it fails, but only for as long as its order is not that of an earlier run.
  const attempt = async (candidate: Plan, { patience, earlier }: Pick<RunOptions, 'earlier' | 'patience'>) =>
    outcomeOf(has(candidate, 3) && (has(candidate, 5) || earlier === undefined || patience !== undefined))
  const found = await shrink(plan, outcomeOf(true), { attempt })
  expect(found.plan.steps).toEqual([wait(3), wait(5)])
})

it('ends after so many runs, whatever is left', async () => {
  let runs = 0
  const long = planOf(Array.from({ length: 400 }, (_, ms) => wait(ms)))
  const attempt = async (candidate: Plan) => {
    runs += 1
    return outcomeOf(candidate === long)
  }
  const found = await shrink(long, outcomeOf(true), { attempt })
  expect(found.plan).toEqual(long)
  expect(runs).toBeLessThan(90)
})

it('leaves out of a course what only the steps had to do with that are left out', () => {
  const plan = planOf([wait(1), enqueue(0), enqueue(1), wait(2)])
  const of = (actor: string, what: string, payouts: readonly number[] = []) =>
    ({ actor, what, phase: 'begin', payouts }) as const
  const happened = [
    ...[of('plan', 'step 0'), of('plan', 'step 1'), of('plan', 'time'), of('worker 0', '_fetch', [0, 1])],
    ...[of('worker 0', 'submit', [0]), of('worker 0', 'submit', [1]), of('plan', 'step 2'), of('plan', 'step 3')],
  ]
  expect(leaveOut({ happened, befell: ['it'] }, plan, 1, 1)).toEqual({
    happened: [
      ...[of('plan', 'step 0'), of('worker 0', '_fetch', [1]), of('worker 0', 'submit', [1])],
      ...[of('plan', 'step 1'), of('plan', 'step 2')],
    ],
    befell: ['it'],
  })
})
