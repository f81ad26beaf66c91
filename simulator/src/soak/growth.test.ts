import { describe, expect, it } from 'vitest'
import { compareFifths } from './growth.ts'
import type { Sample } from './sample.ts'

const samples = (sizes: readonly number[]): readonly Sample[] =>
  sizes.map((size, at) => ({
    atMs: at * 10_000,
    payouts: at * 400,
    memory: {},
    tables: { 'outlay.transfer': size * 2 ** 20 },
    deadRows: {},
    latencies: {},
  }))

describe('the comparison of the first fifth with the last', () => {
  it('says what each payout added to what grows', () => {
    const [growth] = compareFifths(samples([1, 1, 2, 2, 3, 3, 4, 4, 5, 5]), 'tables')
    expect(growth).toMatchObject({ name: 'outlay.transfer', first: 2 ** 20, last: 5 * 2 ** 20, grows: true })
    expect(growth?.perPayout).toBeCloseTo((4 * 2 ** 20) / (8 * 400))
  })

  it('calls what goes up and down in between flat', () => {
    const [growth] = compareFifths(samples([3, 3, 9, 1, 3, 9, 3, 1, 3, 3]), 'tables')
    expect(growth).toMatchObject({ perPayout: 0, grows: false })
  })

  it('says nothing of fewer than five samples', () => {
    expect(compareFifths(samples([1, 2, 3, 4]), 'tables')).toEqual([])
  })
})
