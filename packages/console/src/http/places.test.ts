import { expect, it } from 'vitest'
import { createPlaces } from './places.ts'

const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

it('lets so much work run at once, in the order in which it came', async () => {
  const enter = createPlaces(2)
  const { signal } = new AbortController()
  const began: number[] = []
  const ends: (() => void)[] = []
  const run = (number: number) =>
    enter(`person ${number}`, signal, () => {
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
  const failing = enter('ada', signal, () => first.promise)
  const impatient = new AbortController()
  const waiting = enter('ada', impatient.signal, async () => 'never')
  const next = enter('ada', signal, async () => 'next')
  impatient.abort()
  await expect(waiting).rejects.toMatchObject({ code: 'service_unavailable' })
  first.reject(new Error('no'))
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('next')
  expect(await enter('ada', signal, async () => 'later')).toBe('later')
})

it('keeps a place for others of whoever asks for all of them, and gives turns', async () => {
  const enter = createPlaces(2)
  const { signal } = new AbortController()
  const began: string[] = []
  const ends: (() => void)[] = []
  const run = (actor: string, name: string) =>
    enter(actor, signal, () => {
      began.push(name)
      return new Promise<void>((resolve) => ends.push(resolve))
    })
  const all = [run('ada', 'a1'), run('ada', 'a2'), run('ada', 'a3'), run('bert', 'b1')]
  await settle()
  expect(began).toEqual(['a1', 'b1'])
  all.push(run('carl', 'c1'))
  ends.shift()?.()
  await settle()
  expect(began).toEqual(['a1', 'b1', 'a2'])
  ends.pop()?.()
  await settle()
  // Whoever was served is behind the others.
  expect(began).toEqual(['a1', 'b1', 'a2', 'c1'])
  while (began.length < all.length || ends.length > 0) {
    ends.shift()?.()
    await settle()
  }
  await Promise.all(all)
  expect(began.at(-1)).toBe('a3')
})
