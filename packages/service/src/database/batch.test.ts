import { expect, it } from 'vitest'
import { batch } from './batch.ts'

it('simultaneous calls share one run, and each gets its own answer', async () => {
  const runs: (readonly number[])[] = []
  const double = batch(
    async (items: readonly number[]) => {
      runs.push(items)
      return items.map((item) => item * 2)
    },
    { maxSize: 10, waitMs: 1 },
  )
  expect(await Promise.all([double(1), double(2), double(3)])).toEqual([2, 4, 6])
  expect(runs).toEqual([[1, 2, 3]])
})

it('a full batch does not wait', async () => {
  const sizes: number[] = []
  const one = batch(
    async (items: readonly number[]) => {
      sizes.push(items.length)
      return items
    },
    { maxSize: 2, waitMs: 60_000 },
  )
  await Promise.all([one(1), one(2), one(3), one(4)])
  expect(sizes).toEqual([2, 2])
})

it('a failed run fails every call of it, and the next run works', async () => {
  let broken = true
  const flaky = batch(
    async (items: readonly string[]) => {
      if (broken) throw new Error('broken')
      return items
    },
    { maxSize: 10, waitMs: 1 },
  )
  const outcomes = await Promise.allSettled([flaky('a'), flaky('b')])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  broken = false
  expect(await flaky('c')).toBe('c')
})
