import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { describe, expect, it } from 'vitest'
import { bugs } from './bugs/bugs.ts'
import { createReach } from './bugs/reach.ts'
import { openEnvironment } from './environment/environment.ts'
import type { PaymentRule } from './plan/earlier-payments.ts'
import { drawPlan, type Step } from './plan/plan.ts'
import { run } from './run/run.ts'
import { campaign, type Failure, findBug } from './search/campaign.ts'
import { keepFailure, readFailure, replay } from './search/replay.ts'

/** Seeds with many payouts and faults. Together they call everything that a planted mistake changes. */
const fixedSeeds = [100_023, 100_073, 200_004, 300_166, 300_182, 300_682, 301_518]

/** What a reader of a failed test needs; the order of events alone is thousands of lines. */
const summary = (failure: Failure | undefined) =>
  failure && { seed: failure.seed, violations: failure.violations, trace: failure.trace }

describe('the simulator', () => {
  it('finds nothing on seeds that are known', async () => {
    const { bug, findUnreached, names } = createReach(bugs)
    const { failure, payouts, faults } = await campaign({ seeds: fixedSeeds, parallel: 2, judgeEvery: 1, bug })
    expect(summary(failure)).toBeUndefined()
    expect(payouts).toBeGreaterThan(20)
    expect(faults).toBeGreaterThan(5)
    // A mistake in what no plan calls would never be found.
    expect(names().length).toBeGreaterThan(10)
    expect(findUnreached()).toEqual([])
  }, 300_000)

  it('finds nothing on seeds that nobody has run, and where tests decide about a change, on the same ones each time', async () => {
    const first = process.env['CI'] === undefined ? Math.floor(Date.now() / 1_000) % 1_000_000_000 : 7_000
    const seeds = Array.from({ length: 12 }, (_, index) => first + index)
    const { failure } = await campaign({ seeds, parallel: 2, minutes: 0.5, shrinks: false, judgeEvery: 4 })
    expect(summary(failure)).toBeUndefined()
  }, 300_000)

  it('has a failure of a random plan again, after it made the plan shorter', async () => {
    const name = 'job_outside_the_transaction'
    const reported: string[] = []
    const onShrink = (text: string) => void reported.push(text)
    const { failure } = await campaign({ seeds: [500, 504, 505], bug: findBug(name), onShrink })
    if (failure === undefined) throw new Error('The mistake was not found.')
    const { kept, seed } = failure
    expect(kept.plan.steps.length).toBeLessThan(drawPlan(seed).steps.length / 2)
    expect(kept.again).toEqual({ failed: 5, of: 5 })
    expect(reported.length).toBeGreaterThan(5)
    const folder = await mkdtemp(`${tmpdir()}/outlay-failures-`)
    const read = await readFailure(await keepFailure(folder, kept)).finally(() => rm(folder, { recursive: true }))
    expect(await replay(read, findBug(name), 3, (_, { enforced }) => expect(enforced.missed).toBe(0))).toBe(3)
  }, 300_000)

  const payAlike = (first: number): Step => ({
    ...({ do: 'pay_alike', tenant: 0, isReversed: false, rolledBack: null } as const),
    payouts: [first, first + 1].map((number) => ({ number, kind: 'new_wallet', amount: 2 })),
  })

  it.each<[string, PaymentRule]>([
    ['a_payee_is_known_before_it_is_paid', 'new'],
    ['lookalikes_are_compared_at_the_enqueue_alone', 'alike'],
  ])(
    'finds %s in a plan of few steps, in which it finds nothing else',
    async (name, rule) => {
      const workers = [0, 1].map((worker) => ({ do: 'start', worker, skewSeconds: 0 }) as const)
      const steps: Step[] = [...workers, { do: 'set_payments', rules: [rule] }, payAlike(0), payAlike(2)]
      const plan = { seed: 1, tenants: 1, sharesClient: false, steps }
      for (const bug of [undefined, findBug(name)]) {
        await using environment = await openEnvironment(bug)
        const { violations } = await run(environment, plan, bug)
        const wanted = bug === undefined ? [] : ['earlier_payments']
        expect([...new Set(violations.map(({ invariant }) => invariant))]).toEqual(wanted)
      }
    },
    300_000,
  )

  // The others need more seeds than a test run has time for; `simulate --bugs` searches for all of them.
  it.each(['a_new_key_per_attempt', 'job_outside_the_transaction'])(
    'finds %s when it is planted',
    async (name) => {
      const seeds = Array.from({ length: 40 }, (_, index) => 500 + index)
      const { failure } = await campaign({ seeds, parallel: 2, bug: findBug(name), shrinks: false, judgeEvery: 1 })
      const wanted = bugs.find((bug) => bug.name === name)?.breaks ?? []
      expect(failure?.violations.filter(({ invariant }) => wanted.includes(invariant))).not.toEqual([])
      expect(failure?.violations.map(({ invariant }) => invariant)).toContain('judge')
    },
    300_000,
  )
})
