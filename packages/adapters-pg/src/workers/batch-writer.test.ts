import { silentLogger } from '@outlay/testing'
import { expect, it } from 'vitest'
import { startBatchWriter } from './batch-writer.ts'

it('gives up an item whose rows stay locked, after so many tries, and says so', async () => {
  const tried: string[] = []
  const writer = startBatchWriter<string, 'written'>({
    name: 'test',
    logger: silentLogger,
    async write(items) {
      tried.push(...items)
      return items.map((item) => (item === 'locked' ? 'locked' : 'written'))
    },
    refuse: () => 'written',
    putOff: () => undefined,
    mostTries: 3,
    onWritten: () => undefined,
  })
  expect(await Promise.all(['first', 'locked', 'last'].map(writer.add))).toEqual(['written', 'locked', 'written'])
  expect([tried.filter((item) => item === 'locked').length, tried.length, writer.locked()]).toEqual([3, 5, 0])
  await writer.stop()
})

it('gives up for the states that are named, and tries again for all others', async () => {
  const states = ['57P01', 'P0001']
  const refused: string[] = []
  const writer = startBatchWriter<string, string>({
    name: 'test',
    logger: silentLogger,
    async write() {
      throw Object.assign(new Error('as planned'), { code: states.shift() ?? '42501' })
    },
    refuse(item) {
      refused.push(item)
      return 'refused'
    },
    refusals: /^P0/,
    putOff: () => undefined,
    onWritten: () => undefined,
  })
  expect(await writer.add('one')).toBe('refused')
  expect([refused, states]).toEqual([['one'], []])
  await writer.stop()
})
