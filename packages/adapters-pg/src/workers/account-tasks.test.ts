import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { createAccountTasks } from './account-tasks.ts'

function make(size: number, slowAfterMs: number) {
  const lines: unknown[] = []
  const ends = new Map<string, () => void>()
  const logger = { debug() {}, info() {}, warn: (fields: unknown) => void lines.push(fields), error() {} }
  const freed = { count: 0 }
  const onFree = () => {
    freed.count += 1
  }
  const tasks = createAccountTasks({ logger, size, slowAfterMs, onFree })
  const begin = (account: string) =>
    tasks.begin(account, () => new Promise((resolve) => void ends.set(account, () => resolve())))
  const end = async (account: string) => {
    await waitUntil(() => ends.has(account))
    ends.get(account)?.()
    ends.delete(account)
    await waitUntil(() => !tasks.excluded().includes(account))
  }
  return { tasks, begin, end, lines, freed }
}

it('an account has one task at a time, and all together as many as the size allows', async () => {
  const { tasks, begin, end } = make(2, 3_600_000)
  begin('a')
  expect([tasks.mayBegin('a'), tasks.mayBegin('b'), tasks.free()]).toEqual([false, true, 1])
  begin('b')
  expect([tasks.mayBegin('c'), tasks.free(), tasks.excluded()]).toEqual([false, 0, ['a', 'b']])
  await end('a')
  expect([tasks.mayBegin('a'), tasks.free()]).toEqual([true, 1])
  await end('b')
  await tasks.ended()
})

it('an error of a task is logged, and its slot is free again', async () => {
  const { tasks, lines } = make(1, 3_600_000)
  tasks.begin('a', () => Promise.reject(new Error('no database')))
  await tasks.ended()
  expect([lines, tasks.free()]).toEqual([[{ accountId: 'a', error: 'no database' }], 1])
})

it('slow accounts have their own share, and leave the slots to the others', async () => {
  const { tasks, begin, end, freed } = make(2, 1)
  const slow = Array.from({ length: 12 }, (_, index) => `s${index}`)
  for (const account of slow) {
    await waitUntil(() => tasks.mayBegin(account))
    begin(account)
  }
  await waitUntil(() => tasks.free() === 2)
  expect(freed.count).toBe(12)
  for (const account of slow) await end(account)
  const again = slow.filter((account) => {
    if (!tasks.mayBegin(account)) return false
    begin(account)
    return true
  })
  expect([again, tasks.free(), tasks.mayBegin('quick')]).toEqual([slow.slice(0, 8), 2, true])
  expect(tasks.excluded().toSorted()).toEqual(slow.toSorted())
  for (const account of again) await end(account)
  await tasks.ended()
})

it('remembers many accounts that hang, so that none of them takes the room of the others a second time', async () => {
  const hang = Promise.withResolvers<void>()
  const accounts = Array.from({ length: 3_000 }, (_, index) => `hangs-${index}`)
  const { tasks } = make(3_000, 50)
  for (const account of accounts) tasks.begin(account, () => new Promise((resolve) => setTimeout(resolve, 200)))
  await tasks.ended()
  for (const account of accounts.slice(-8)) tasks.begin(account, () => hang.promise)
  expect(accounts.filter((account) => tasks.mayBegin(account))).toEqual([])
  expect(tasks.excluded()).toHaveLength(3_000)
  hang.resolve()
  await tasks.ended()
})
