import { expect, it } from 'vitest'
import { createFigures } from './figures.ts'

/** A clock, and reads of so many transfers that take half a second. */
function make() {
  const clock = { now: 0, reads: 0 }
  const figures = createFigures(() => clock.now)
  const read = (transfers: number) => () =>
    figures('one', async () => {
      clock.reads += 1
      const value = clock.reads
      clock.now += 500
      return { value, transfers }
    })
  return { clock, read, figures }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

it('reads those of few transfers each time', async () => {
  const { read } = make()
  expect([await read(5)(), await read(5)(), await read(5)()]).toEqual([1, 2, 3])
})

it('keeps one of many for a multiple of its time, and gives it once more while it reads the next', async () => {
  const { read, clock } = make()
  const slow = read(1_000_000)
  expect([await slow(), await slow()]).toEqual([1, 1])
  clock.now += 10_001
  expect([await slow(), await settled(), await slow()]).toEqual([1, undefined, 2])
  clock.now += 121_000
  expect(await slow()).toBe(3)
})

it('lets all who ask at once share one read, and keeps no failure', async () => {
  const { figures } = make()
  let reads = 0
  const gate = Promise.withResolvers<never>()
  const ask = () =>
    figures('two', () => {
      reads += 1
      return gate.promise
    })
  const both = Promise.allSettled([ask(), ask()])
  gate.reject(new Error('no database'))
  expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(reads).toBe(1)
  await settled()
  expect(await figures('two', async () => ({ value: 7, transfers: 0 }))).toBe(7)
})
