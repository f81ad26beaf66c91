import { expect, it } from 'vitest'
import type { Happening } from './course.ts'
import { createOrder, type Order } from './order.ts'

const labels = (happened: readonly Happening[]) => happened.map(({ actor, what, phase }) => `${actor} ${what} ${phase}`)

const impatient = { ms: 40, endMs: 200, shortMs: 5, misses: 50 }

const poll = (order: Order, found: readonly number[]) =>
  order.poll(
    'a',
    'fetch',
    async () => found,
    (rows) => rows,
    [],
  )

it('replays the recorded order, whichever actor comes first', async () => {
  const first = createOrder()
  await first.pass('a', 'settle', [1], async () => 'one')
  await first.pass('b', 'settle', [1], async () => 'two')
  const again = createOrder(first.course)
  const done: string[] = []
  await Promise.all([
    again.pass('b', 'settle', [1], async () => done.push('b')),
    again.pass('a', 'settle', [1], async () => done.push('a')),
  ])
  expect(done).toEqual(['a', 'b'])
  expect(labels(again.course.happened)).toEqual(labels(first.course.happened))
  expect(again.enforced).toMatchObject({ kept: 4, missed: 0 })
})

it('does not count a poll that finds nothing, and lets it come again', async () => {
  const first = createOrder()
  await poll(first, [])
  await poll(first, [7])
  await first.pass('plan', 'step', [], async () => undefined)
  const order = ['a fetch begin', 'a fetch end', 'plan step begin', 'plan step end']
  expect(labels(first.course.happened)).toEqual(order)
  const again = createOrder(first.course)
  const step = again.pass('plan', 'step', [], async () => undefined)
  for (const found of [[], [], [7]]) await poll(again, found)
  await step
  expect(labels(again.course.happened)).toEqual(order)
  expect(again.enforced.missed).toBe(0)
})

it('lets a poll find nothing until its turn comes', async () => {
  const first = createOrder()
  await first.pass('plan', 'step', [], async () => undefined)
  await poll(first, [7])
  const again = createOrder(first.course)
  expect(await poll(again, [7])).toEqual([])
  await again.pass('plan', 'step', [], async () => undefined)
  expect(await poll(again, [7])).toEqual([7])
  expect(again.enforced.missed).toBe(0)
})

it('waits for the rest of what a poll found at once, and not for what one has found too early', async () => {
  const first = createOrder()
  await poll(first, [1, 2])
  await poll(first, [3])
  await first.pass('plan', 'step', [], async () => undefined)
  const again = createOrder(first.course)
  let isTaken = false
  const step = again.pass('plan', 'step', [], async () => {
    isTaken = true
  })
  await poll(again, [1])
  expect(isTaken).toBe(false)
  await poll(again, [2, 3])
  await step
  expect(again.enforced.missed).toBe(0)
})

it('lets faults befall whom they befell', async () => {
  const first = createOrder()
  expect(first.befalls('reset of 1', () => false)).toBe(false)
  expect(first.befalls('reset of 1', () => true)).toBe(true)
  expect(first.befalls('reset of 2', () => false)).toBe(false)
  const again = createOrder(first.course)
  expect(again.befalls('reset of 2', () => true)).toBe(false)
  expect(again.befalls('reset of 1', () => true)).toBe(false)
  expect(again.befalls('reset of 1', () => false)).toBe(true)
})

it('strikes when everything before has happened, and not earlier', async () => {
  const first = createOrder()
  await first.pass('plan', 'step', [], async () => undefined)
  expect(first.strikes('a', 'kill before next', () => true)).toBe(true)
  const again = createOrder(first.course)
  expect(again.strikes('a', 'kill before next', () => true)).toBe(false)
  await again.pass('plan', 'step', [], async () => undefined)
  expect(again.strikes('a', 'kill before next', () => false)).toBe(true)
})

it('lets time go on between statements only', async () => {
  const { gate } = createOrder()
  const done: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const statement = gate.enter(async () => {
    await promise
    done.push('statement')
  })
  const time = gate.alone(async () => done.push('time'))
  const later = gate.enter(async () => done.push('later statement'))
  resolve()
  await Promise.all([statement, time, later])
  expect(done).toEqual(['statement', 'time', 'later statement'])
})

it('passes over what does not come about, and says so', async () => {
  const first = createOrder()
  await first.pass('a', 'settle', [1], async () => undefined)
  await first.pass('b', 'settle', [2], async () => undefined)
  const again = createOrder(first.course, impatient)
  expect(await again.pass('b', 'settle', [2], async () => 'went on')).toBe('went on')
  expect(again.enforced).toMatchObject({ kept: 2, missed: 2, firstMissed: { actor: 'a', what: 'settle' } })
})

it('waits for nothing any more when too much did not come about', async () => {
  const first = createOrder()
  for (let number = 0; number < 20; number += 1) await first.pass('a', 'settle', [number], async () => undefined)
  await first.pass('b', 'settle', [99], async () => undefined)
  const again = createOrder(first.course, { ...impatient, misses: 3 })
  expect(await again.pass('b', 'settle', [99], async () => 'went on')).toBe('went on')
  expect(again.enforced.missed).toBe(4)
})
