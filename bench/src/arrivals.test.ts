import { expect, test } from 'vitest'
import { createArrivals } from './arrivals.ts'

function clocked() {
  const clock = { ms: 0 }
  return { clock, arrivals: createArrivals(() => clock.ms) }
}

test('a latency runs from the commit to the arrival', async () => {
  const { clock, arrivals } = clocked()
  arrivals.commit(1)
  clock.ms = 5
  arrivals.arrive(1)
  await arrivals.arrived(1)
  expect(arrivals.latenciesMs()).toEqual([5])
})

test('what arrives twice or never is an error', () => {
  const { arrivals } = clocked()
  arrivals.arrive(1)
  expect(() => arrivals.arrive(1)).toThrow('twice')
  arrivals.commit(2)
  expect(() => arrivals.latenciesMs()).toThrow('never')
})
