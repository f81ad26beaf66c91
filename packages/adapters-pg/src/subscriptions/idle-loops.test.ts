import { expect, it } from 'vitest'
import { createIdleLoops } from './idle-loops.ts'

const never = 3_600_000

it('of several idle loops the one that has been idle longest is woken', () => {
  const woken: number[] = []
  const idle = createIdleLoops((index) => woken.push(index), never)
  for (const index of [2, 0, 1]) expect(idle.enter(index)).toBeGreaterThan(0)
  idle.wake()
  idle.wake()
  idle.stop()
  expect(woken).toEqual([2, 0])
})

it('a wake-up while no loop is idle keeps the next one at work', () => {
  const idle = createIdleLoops(() => undefined, never)
  idle.wake()
  expect(idle.enter(0)).toBe(0)
  expect(idle.enter(0)).toBeGreaterThan(0)
  idle.stop()
})

it('the first of the idle loops below an index is woken, and none where all of them work', () => {
  const woken: number[] = []
  const idle = createIdleLoops((index) => woken.push(index), never)
  for (const index of [3, 2, 1]) idle.enter(index)
  idle.wakeBelow(3)
  idle.wakeBelow(2)
  idle.wakeBelow(3)
  idle.wakeBelow(3)
  idle.stop()
  expect(woken).toEqual([1, 2])
})
