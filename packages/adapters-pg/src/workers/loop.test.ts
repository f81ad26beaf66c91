import { expect, it } from 'vitest'
import { startLoop } from './loop.ts'
import { createLoopList } from './loop-list.ts'

const logger = { debug() {}, info() {}, warn() {}, error() {} }

it('shows its turns, how long the one under way has taken, and nothing once it has ended', async () => {
  const loops = createLoopList()
  const turns = [Promise.withResolvers<number>(), Promise.withResolvers<number>()]
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let count = 0
  const turn = () => {
    const at = count++
    begun[at]?.resolve()
    return turns[at]?.promise ?? Promise.resolve(60_000)
  }
  const loop = startLoop({ name: 'dig', logger, turn, loops, hostMs: 7 })
  await begun[0]?.promise
  const first = loops.read()
  expect(first).toMatchObject([{ name: 'dig', turns: 1, hostMs: 7 }])
  expect(loops.read()[0]?.turnMs).toBeGreaterThan(first[0]?.turnMs ?? 0)
  turns[0]?.reject(new Error('no database'))
  await begun[1]?.promise
  expect(loops.read()).toMatchObject([{ turns: 2 }])
  turns[1]?.resolve(60_000)
  await turns[1]?.promise
  expect(loops.read()).toMatchObject([{ turns: 2, turnMs: 0 }])
  await loop.stop()
  expect(loops.read()).toEqual([])
})
