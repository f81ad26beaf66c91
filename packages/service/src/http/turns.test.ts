import { expect, it } from 'vitest'
import { createTurns } from './turns.ts'

it('runs one part in each turn of the event loop, and parties take turns', async () => {
  const turns = createTurns()
  const ran: string[] = []
  const ends = ['a1', 'a2', 'a3', 'b1'].map((name) => turns.take(name[0] ?? '', () => ran.push(name)))
  const after: number[] = []
  for (let turn = 0; turn < 4; turn += 1) {
    await new Promise(setImmediate)
    after.push(ran.length)
  }
  await Promise.all(ends)
  expect(after).toEqual([1, 2, 3, 4])
  expect(ran).toEqual(['a1', 'b1', 'a2', 'a3'])
})

it('gives what a part gives, and goes on after one that throws', async () => {
  const turns = createTurns()
  const failing = turns.take('a', () => {
    throw new Error('broken')
  })
  const next = turns.take('a', () => 'next')
  await expect(failing).rejects.toThrow('broken')
  expect(await next).toBe('next')
})
