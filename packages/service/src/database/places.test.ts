import { expect, it } from 'vitest'
import { createPlaces, PlacesTakenError } from './places.ts'

const limits = { most: 2, mostOfParty: 1, mostWaiting: 4, mostWaitingOfParty: 3 }
const signal = new AbortController().signal

/** Works whose ends the test decides. */
function recorded(given: Partial<typeof limits> = {}) {
  const places = createPlaces({ ...limits, ...given })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  return {
    begun,
    /** Ends a work, and waits until the next one has begun. */
    async end(name: string) {
      ends.get(name)?.()
      await new Promise(setImmediate)
    },
    enter: (party: string, name: string, until: AbortSignal = signal) =>
      places.enter(party, until, () => {
        begun.push(name)
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
      }),
  }
}

it('begins at most so many of a party and of all, and parties take turns', async () => {
  const { begun, end, enter } = recorded()
  const works = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => enter(name[0] ?? '', name))
  expect(begun).toEqual(['a1', 'b1'])
  await end('a1')
  // It has come before the next one of `a`.
  expect(begun).toEqual(['a1', 'b1', 'c1'])
  await end('b1')
  expect(begun.at(-1)).toBe('a2')
  await end('a2')
  expect(begun.at(-1)).toBe('a3')
  await end('a3')
  await end('c1')
  expect(await Promise.all(works)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1'])
})

it('refuses a party that has too many waiting, and its work that fails frees its place', async () => {
  const { begun, end, enter } = recorded()
  const works = ['a1', 'a2', 'a3', 'a4'].map((name) => enter('a', name))
  await expect(enter('a', 'a5')).rejects.toBeInstanceOf(PlacesTakenError)
  for (const name of ['a1', 'a2', 'a3', 'a4']) await end(name)
  await Promise.all(works)
  const places = createPlaces(limits)
  await expect(places.enter('a', signal, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await places.enter('a', signal, async () => 'free')).toBe('free')
  expect(begun).toHaveLength(4)
})

it('when all wait too many, the party that has most gives way to one that has fewer, and only then', async () => {
  const { end, enter, begun } = recorded()
  const outcomes: string[] = []
  const note = (party: string, name: string) =>
    enter(party, name).then(
      () => outcomes.push(`${name} done`),
      (error) => outcomes.push(`${name} ${error.name}`),
    )
  const works = ['x1', 'y1', 'a1', 'a2', 'a3', 'b1'].map((name) => note(name[0] ?? '', name))
  expect(begun).toEqual(['x1', 'y1'])
  const later = [note('c', 'c1')]
  await new Promise(setImmediate)
  expect(outcomes).toEqual(['a1 PlacesTakenError'])
  // Two of `a` wait: one of `b` more would be as many.
  await note('b', 'b2')
  expect(outcomes).toEqual(['a1 PlacesTakenError', 'b2 PlacesTakenError'])
  for (const name of ['x1', 'y1', 'a2', 'b1', 'c1', 'a3']) await end(name)
  await Promise.all([...works, ...later])
  expect(begun).toEqual(['x1', 'y1', 'a2', 'b1', 'c1', 'a3'])
})

it('what leaves the queue leaves nothing behind, and what has begun is not left', async () => {
  const { begun, end, enter } = recorded()
  const gone = new AbortController()
  const works = ['a1', 'b1'].map((name) => enter(name[0] ?? '', name, gone.signal))
  const left = Array.from({ length: 3 }, (_, at) => enter('c', `c${at}`, gone.signal))
  const next = enter('d', 'd1')
  const ends = Promise.allSettled(left)
  gone.abort(new Error('gone'))
  expect(await ends).toMatchObject(left.map(() => ({ status: 'rejected', reason: { message: 'gone' } })))
  await expect(enter('e', 'e1', gone.signal)).rejects.toThrow('gone')
  await end('a1')
  expect(begun).toEqual(['a1', 'b1', 'd1'])
  await end('b1')
  await end('d1')
  expect(await Promise.all([...works, next])).toEqual(['a1', 'b1', 'd1'])
  expect(await Promise.all([enter('a', 'a2'), end('a2')])).toEqual(['a2', undefined])
})
