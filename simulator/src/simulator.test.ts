import { describe, expect, it } from 'vitest'
import { bugs } from './bugs.ts'
import { campaign } from './campaign.ts'

/** Seeds with many payouts and faults. */
const fixedSeeds = [100_023, 100_073, 200_004]

describe('the simulator', () => {
  it('finds nothing on seeds that are known', async () => {
    const { failure, payouts, faults } = await campaign({ seeds: fixedSeeds, lanes: 2, judgeEvery: 1 })
    expect(failure).toBeUndefined()
    expect(payouts).toBeGreaterThan(20)
    expect(faults).toBeGreaterThan(10)
  }, 300_000)

  it('finds nothing on seeds that nobody has run, and where tests decide about a change, on the same ones each time', async () => {
    const first = process.env['CI'] === undefined ? Math.floor(Date.now() / 1_000) % 1_000_000_000 : 7_000
    const seeds = Array.from({ length: 12 }, (_, index) => first + index)
    const { failure } = await campaign({ seeds, lanes: 2, minutes: 0.5, shrinks: false, judgeEvery: 4 })
    expect(failure).toBeUndefined()
  }, 300_000)

  // The others take more seeds than a test run has time for; `simulate --bugs` looks for all of them.
  it.each(['a_new_key_per_attempt', 'job_outside_the_transaction'])(
    'finds %s when it is planted',
    async (name) => {
      const seeds = Array.from({ length: 40 }, (_, index) => 500 + index)
      const { failure } = await campaign({ seeds, lanes: 2, bug: name, shrinks: false, judgeEvery: 1 })
      const wanted = bugs.find((bug) => bug.name === name)?.breaks ?? []
      expect(failure?.violations.filter(({ invariant }) => wanted.includes(invariant))).not.toEqual([])
      expect(failure?.violations.map(({ invariant }) => invariant)).toContain('judge')
    },
    300_000,
  )
})
