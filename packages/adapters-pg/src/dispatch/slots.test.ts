import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { createSlots } from './slots.ts'

/** Slots in which every submission is slow as soon as timers fire. */
function make(concurrency: number) {
  const hanging: string[] = []
  const slots = createSlots({
    concurrency,
    slowAfterMs: 1,
    onFree() {},
    onHang: (account) => void hanging.push(account),
  })
  const begin = async (...accounts: string[]) => {
    const before = slots.slow()
    const leaves = accounts.map((account) => slots.begin(account))
    await waitUntil(() => slots.slow() === before + accounts.length)
    return leaves
  }
  return { slots, hanging, begin }
}

const times = (count: number, account: string) => Array.from({ length: count }, () => account)

it('a submission occupies a slot until it ends, or is slow', async () => {
  const { slots } = make(2)
  const leave = slots.begin('a')
  const other = slots.begin('b')
  expect([slots.busy(), slots.slow()]).toEqual([2, 0])
  other()
  expect(slots.busy()).toBe(1)
  await waitUntil(() => slots.slow() === 1)
  expect(slots.busy()).toBe(0)
  leave()
  expect([slots.busy(), slots.slow()]).toEqual([0, 0])
})

it('one account alone may have as many slow ones as there are slots', async () => {
  const { hanging, begin } = make(10)
  await begin(...times(9, 'a'))
  expect(hanging).toEqual([])
  await begin('a')
  expect(hanging).toEqual(['a'])
})

it('many accounts that hang are throttled before they occupy everything', async () => {
  const { hanging, begin } = make(20)
  const accounts = Array.from({ length: 10 }, (_, index) => `a${index}`)
  await begin(...accounts)
  expect(hanging).toEqual([])
  const leaves = await begin(...accounts)
  expect(new Set(hanging)).toEqual(new Set(['a9']))
  await begin(...accounts)
  expect(new Set(hanging)).toEqual(new Set(accounts))
  for (const leave of leaves) leave()
  hanging.length = 0
  await begin(...Array.from({ length: 20 }, (_, index) => `b${index}`))
  expect(hanging).toEqual(['b19'])
})
