import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRailShares, full, left } from './rail-shares.ts'

const options = { concurrency: 20, slowAfterMs: 5_000 }
const signal = new AbortController().signal

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Shares, and rails that hang until a test lets them answer. */
function hangingRails() {
  const shares = createRailShares(options)
  const begun: string[] = []
  const hanging = Promise.withResolvers<string>()
  return {
    shares,
    begun,
    answer: () => hanging.resolve('late'),
    hang: (accountId: string, times: number, rail = 'wire') =>
      Array.from({ length: times }, () =>
        shares.enter({ rail, accountId }, signal, () => {
          begun.push(`${rail} ${accountId}`)
          return hanging.promise
        }),
      ),
  }
}

it('one rail that hangs leaves half of the places, and never has as many as the engine', async () => {
  const { shares, begun, hang, answer } = hangingRails()
  const accounts = Array.from({ length: 40 }, (_, at) => `A${at}`)
  const rounds: Promise<unknown>[] = []
  for (let round = 0; round < 5; round++) {
    rounds.push(...accounts.flatMap((account) => hang(account, 2)))
    await vi.advanceTimersByTimeAsync(0)
    if (round === 0) expect(begun).toHaveLength(10)
    expect(await shares.enter({ rail: 'ach_credit', accountId: 'A0' }, signal, async () => 'through')).toBe('through')
    await vi.advanceTimersByTimeAsync(6_000)
  }
  expect(begun).toHaveLength(19)
  answer()
  const answers = await Promise.all(rounds)
  expect(answers.filter((one) => one === 'late')).toHaveLength(19)
  expect(answers.filter((one) => one === full)).toHaveLength(381)
  expect(await shares.enter({ rail: 'wire', accountId: 'A0' }, signal, async () => 'again')).toBe('again')
})

it('an account whose submissions hang leaves places of its rail to other accounts', async () => {
  const { shares, begun, hang, answer } = hangingRails()
  hang('A', 30)
  await vi.advanceTimersByTimeAsync(6_000)
  hang('A', 30)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(begun).toHaveLength(10)
  expect(await shares.enter({ rail: 'wire', accountId: 'B' }, signal, async () => 'through')).toBe('through')
  answer()
})

it('a submission waits for one that ends soon', async () => {
  const { shares, hang, answer } = hangingRails()
  hang('A', 5)
  hang('B', 5)
  const next = shares.enter({ rail: 'wire', accountId: 'C' }, signal, async () => 'through')
  await vi.advanceTimersByTimeAsync(500)
  answer()
  expect(await next).toBe('through')
})

it('a submission that is given up while it waits is not done', async () => {
  const { shares, hang, answer } = hangingRails()
  hang('A', 10)
  const stop = new AbortController()
  const next = shares.enter({ rail: 'wire', accountId: 'C' }, stop.signal, () => Promise.reject(new Error('submitted')))
  stop.abort(new Error('stopped'))
  expect(await next).toBe(left)
  answer()
})

it('what a rail throws is its answer', async () => {
  const { shares } = hangingRails()
  const submit = () => {
    throw new Error('broken')
  }
  await expect(shares.enter({ rail: 'wire', accountId: 'A' }, signal, submit)).rejects.toThrow('broken')
})

it('a submission that is given up leaves its place, even if it hangs for ever', async () => {
  const { shares } = hangingRails()
  const stop = new AbortController()
  const begin = () => shares.enter({ rail: 'wire', accountId: 'A' }, stop.signal, () => new Promise(() => undefined))
  for (let count = 0; count < 10; count++) void begin()
  await vi.advanceTimersByTimeAsync(6_000)
  expect(await begin()).toBe(full)
  stop.abort()
  await vi.advanceTimersByTimeAsync(0)
  expect(await shares.enter({ rail: 'wire', accountId: 'A' }, signal, async () => 'through')).toBe('through')
})
