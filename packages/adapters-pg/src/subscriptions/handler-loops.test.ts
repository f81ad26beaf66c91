import { recordingLogger } from '@outlay/testing'
import { expect, it } from 'vitest'
import { countHandlerLoops } from './handler-loops.ts'

const count = (maxConnections: number | undefined, subscriptions: number, wanted?: number) => {
  const logger = recordingLogger()
  const loops = countHandlerLoops({ maxConnections, subscriptions, wanted, logger })
  return [loops, ...logger.entries.map(({ level }) => level)]
}

it('handles as many events at once as asked for where the pool has the connections, or does not say', () => {
  expect(count(20, 4)).toEqual([4])
  expect(count(undefined, 50)).toEqual([4])
  expect(count(10, 0)).toEqual([4])
})

it('handles fewer where handlers could take all connections, one at least, and says so', () => {
  expect(count(10, 3)).toEqual([2, 'info'])
  expect(count(10, 2)).toEqual([3, 'info'])
})

it('warns where the host asked for more, and where handlers may take every connection', () => {
  expect(count(10, 3, 4)).toEqual([2, 'warn'])
  expect(count(1, 1)).toEqual([1, 'warn'])
  expect(count(5, 9)).toEqual([1, 'warn'])
})
