import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { createSlots } from './slots.ts'

/** Slots in which every submission is slow as soon as timers fire. */
function make(concurrency: number, gateways = 1) {
  const hanging: string[] = []
  const slots = createSlots({
    concurrency,
    gateways,
    slowAfterMs: 1,
    onFree() {},
    onHang: (account) => void hanging.push(account),
  })
  const beginAt = async (gateway: string, accounts: readonly string[]) => {
    const before = slots.slow()
    const leaves = accounts.map((account) => slots.begin(account, gateway))
    await waitUntil(() => slots.slow() === before + accounts.length)
    return leaves
  }
  const begin = (...accounts: string[]) => beginAt('default', accounts)
  return { slots, hanging, begin, beginAt }
}

const accountsOf = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`)

const times = (count: number, account: string) => Array.from({ length: count }, () => account)

it('a submission occupies a slot until it ends, or is slow', async () => {
  const { slots } = make(2)
  const leave = slots.begin('a', 'default')
  const other = slots.begin('b', 'default')
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

it('the only gateway has no share, and may hang with four times as many as there are slots', async () => {
  const { slots, begin } = make(10)
  await begin(...times(40, 'a'))
  expect(slots.room('default')).toBe(Number.POSITIVE_INFINITY)
  expect([slots.free(39), slots.free(40)]).toEqual([1, 0])
})

it('a gateway with slow ones may have twice as many under way as there are slots, those that occupy slots included', async () => {
  const { slots, beginAt } = make(10, 2)
  expect(slots.room('second')).toBe(Number.POSITIVE_INFINITY)
  const [leave] = await beginAt('second', accountsOf('a', 15))
  slots.begin('b', 'second')
  expect([slots.room('second'), slots.room('default')]).toEqual([4, Number.POSITIVE_INFINITY])
  leave?.()
  expect(slots.room('second')).toBe(5)
})

it('a gateway keeps its share when all others use theirs up, however many they are', async () => {
  for (const count of [2, 5]) {
    const { slots, beginAt } = make(10, count)
    for (let other = 1; other < count; other += 1) await beginAt(`other-${other}`, accountsOf('a', 20))
    expect(slots.room('other-1')).toBe(0)
    expect(slots.free(slots.slow())).toBe(10)
    expect(slots.free(slots.slow() + 20)).toBe(0)
  }
})

it('accounts of one gateway are throttled for slow ones of that gateway alone', async () => {
  const { hanging, beginAt } = make(10, 2)
  await beginAt('second', accountsOf('a', 20))
  hanging.length = 0
  await beginAt('default', times(9, 'b'))
  expect(hanging).toEqual([])
  await beginAt('default', ['b'])
  expect(hanging).toEqual(['b'])
})
