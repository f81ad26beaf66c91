import { expect, test } from 'vitest'
import { createDeliveries } from './deliveries.ts'

function recorded() {
  let time = 0
  const deliveries = createDeliveries(() => time)
  const at = (ms: number) => {
    time = ms
    return deliveries
  }
  return { deliveries, at }
}

test('what is delivered again counts as repeated, and its first delivery is the one that is timed', () => {
  const { deliveries, at } = recorded()
  at(10).commit(1)
  at(15).deliver(1)
  at(90).deliver(1)
  expect(deliveries.latenciesMs()).toEqual([5])
  expect([deliveries.count(), deliveries.repeated()]).toEqual([1, 1])
})

test('what never came is missing', () => {
  const { deliveries } = recorded()
  deliveries.deliver(2)
  expect(deliveries.missing([1, 2, 3])).toEqual([1, 3])
})

test('the time starts at the last commit that was sent', () => {
  const { deliveries, at } = recorded()
  at(10).commit(1)
  at(50).commit(1)
  at(52).deliver(1)
  expect(deliveries.latenciesMs()).toEqual([2])
  expect(deliveries.latenciesMs(0, 50)).toEqual([])
})

test('the backlog of a moment is what was due before it and came after it', () => {
  const { deliveries, at } = recorded()
  for (const n of [1, 2, 3]) at(n * 10).expect(n)
  at(100).expect(4)
  at(40).deliver(1)
  at(300).deliver(2)
  at(200).deliver(3)
  at(400).deliver(4)
  expect(deliveries.backlogAt(60)).toEqual([200, 300])
  expect(deliveries.firstAfter(60)).toBe(200)
  expect(deliveries.countBetween(200, 400)).toBe(2)
})
