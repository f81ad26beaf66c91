import { expect, it } from 'vitest'
import { createPlaces } from './places.ts'

const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

it('lets so much work run at once, in the order in which it came', async () => {
  const enter = createPlaces(2)
  const { signal } = new AbortController()
  const began: number[] = []
  const ends: (() => void)[] = []
  const run = (number: number) =>
    enter(signal, () => {
      began.push(number)
      return new Promise<number>((resolve) => {
        ends[number] = () => resolve(number)
      })
    })
  const all = [0, 1, 2, 3].map(run)
  await settle()
  expect(began).toEqual([0, 1])
  ends[1]?.()
  const late = run(4)
  await settle()
  expect(began).toEqual([0, 1, 2])
  for (const number of [0, 2, 3, 4]) {
    ends[number]?.()
    await settle()
  }
  expect(await Promise.all([...all, late])).toEqual([0, 1, 2, 3, 4])
  expect(began).toEqual([0, 1, 2, 3, 4])
})

it('gives up who waits when its time is over, and gives the place of work that fails to the next', async () => {
  const enter = createPlaces(1)
  const { signal } = new AbortController()
  const first = Promise.withResolvers<void>()
  const failing = enter(signal, () => first.promise)
  const impatient = new AbortController()
  const waiting = enter(impatient.signal, async () => 'never')
  const next = enter(signal, async () => 'next')
  impatient.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'service_unavailable' })
  first.reject(new Error('no'))
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('next')
  expect(await enter(signal, async () => 'later')).toBe('later')
})
