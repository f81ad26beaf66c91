import { recordingLogger } from '@outlay/testing'
import { expect, it } from 'vitest'
import { countHandlerLoops } from './handler-loops.ts'

const count = (maxConnections: number | undefined, subscriptions: number, wanted = 4) => {
  const logger = recordingLogger()
  return [countHandlerLoops({ maxConnections, subscriptions, wanted, logger }), logger.entries.length]
}

it('handles as many events at once as asked for where the pool has the connections, or does not say', () => {
  expect(count(20, 4)).toEqual([4, 0])
  expect(count(undefined, 50)).toEqual([4, 0])
  expect(count(10, 0)).toEqual([4, 0])
})

it('handles fewer where handlers could take all connections, one at least, and says so', () => {
  expect(count(10, 3)).toEqual([2, 1])
  expect(count(10, 2)).toEqual([3, 1])
  expect(count(1, 1)).toEqual([1, 1])
  expect(count(5, 9)).toEqual([1, 1])
})
