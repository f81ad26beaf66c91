import { afterEach, expect, it, vi } from 'vitest'
import { createHeldJobs } from './held-jobs.ts'

afterEach(() => vi.restoreAllMocks())

it('takes a job for its own only while its last heartbeat is young, by when it was asked for', async () => {
  let now = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  let touch = async (): Promise<ReadonlyMap<string, number>> => new Map()
  const held = createHeldJobs({ touch: () => touch() })
  const [one, two] = ['one', 'two'].map((id) => ({ id, retryCount: 0, claim: undefined }))
  if (one === undefined || two === undefined) throw new Error('There are two.')
  held.add(one, now)
  held.add(two, now)
  now += 9_000
  expect([held.isOurs(one), held.isOurs(two)]).toEqual([true, true])
  touch = async () => {
    // The process stands still before it reads the answer.
    now += 5_000
    return new Map([['one', 100]])
  }
  await held.keepAlive()
  expect([held.isOurs(one), held.isOurs(two)]).toEqual([true, false])
  now += 5_000
  expect([held.isOurs(one), held.isOurs(two)]).toEqual([false, false])
  held.delete(one)
  held.delete(two)
  expect([held.size(), held.isOurs(one)]).toEqual([0, false])
})

it('does not take a job back for the heartbeat of a new one that another worker has', async () => {
  let now = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  const held = createHeldJobs({ touch: async () => new Map([['one', 0]]) })
  const one = { id: 'one', retryCount: 0, claim: undefined }
  held.add(one, now)
  now += 9_600
  await held.keepAlive()
  expect(held.isOurs(one)).toBe(false)
})

it('holds a job for no longer than one lease when the clock of Postgres is set back between its heartbeat and the read of it', async () => {
  let now = 1_000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  let ages = new Map([['one', -3 * 3_600_000]])
  const held = createHeldJobs({ touch: async () => ages })
  const one = { id: 'one', retryCount: 0, claim: undefined }
  held.add(one, now)
  await held.keepAlive()
  expect(held.isOurs(one)).toBe(true)
  // The process stands still, and another worker gets the job.
  now += 15_000
  ages = new Map()
  await held.keepAlive()
  expect(held.isOurs(one)).toBe(false)
})

it('loses a job as soon as the database says so, or the worker itself has fetched it again', async () => {
  let ages = new Map([['one', 0]])
  const held = createHeldJobs({ touch: async () => ages })
  const one = { id: 'one', retryCount: 0, claim: undefined }
  const again = { id: 'one', retryCount: 1, claim: undefined }
  held.add(one, performance.now())
  await held.keepAlive()
  expect(held.isOurs(one)).toBe(true)
  held.add(again, performance.now())
  expect([held.isOurs(one), held.isOurs(again), held.size()]).toEqual([false, true, 2])
  held.delete(one)
  await held.keepAlive()
  expect([held.isOurs(one), held.isOurs(again), held.size()]).toEqual([false, true, 1])
  ages = new Map()
  await held.keepAlive()
  expect(held.isOurs(again)).toBe(false)
})
