import { expect, test } from 'vitest'
import { type Contender, quotients, rotate, runContest } from './contest.ts'
import type { Measurement } from './measurement.ts'

const rate = (perSecond: number): Measurement => ({
  operations: perSecond,
  elapsedMs: 1000,
  perSecond,
  clientCpuUs: 0,
  serverCpuUs: 431.6,
  walBytes: 0,
  transactions: 0,
  statements: 0,
  p50Ms: 0,
  p99Ms: 0,
})

const contender = (name: string, rates: readonly number[], turns: string[]): Contender => {
  const left = [...rates]
  return {
    name,
    round: async () => {
      turns.push(name)
      return rate(left.shift() ?? 0)
    },
  }
}

test('the contenders take turns, and each round starts with another one', async () => {
  const turns: string[] = []
  const contenders = ['a', 'b', 'c'].map((name) => contender(name, [0, 1, 2, 3], turns))
  const contest = { name: 'x', contenders, ratios: [], references: {}, warmUpSeconds: 1 }
  await runContest(contest, { rounds: 3, seconds: 1, onTurn: () => undefined })
  expect(turns.join('')).toBe('abc' + 'abc' + 'bca' + 'cab')
})

test('a ratio divides turns of the same round and leaves the warm-up out', async () => {
  const turns: string[] = []
  const contenders = [contender('a', [999, 10, 30], turns), contender('b', [1, 5, 10], turns)]
  const contest = { name: 'x', contenders, ratios: [], references: { ideal: 100 }, warmUpSeconds: 1 }
  const result = await runContest(contest, { rounds: 2, seconds: 1, onTurn: () => undefined })
  expect(quotients(result, { of: 'a', to: 'b' })).toEqual([2, 3])
  expect(quotients(result, { of: 'b', to: 'ideal' })).toEqual([0.05, 0.1])
})

test('a contender that did its work wrong ends the contest', async () => {
  const wrong: Contender = { name: 'wrong', round: () => Promise.reject(new Error('3 jobs are missing.')) }
  const contest = { name: 'x', contenders: [wrong], ratios: [], references: {}, warmUpSeconds: 1 }
  await expect(runContest(contest, { rounds: 1, seconds: 1, onTurn: () => undefined })).rejects.toThrow('3 jobs')
})

test('a rotation keeps every value', () => {
  expect(rotate([1, 2, 3], 4)).toEqual([2, 3, 1])
  expect(rotate([], 4)).toEqual([])
})
