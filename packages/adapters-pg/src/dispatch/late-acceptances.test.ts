import type { Settlement } from '@outlay/core/adapter'
import { recordingLogger, waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import type { SettleResult, SettleResults } from './attempts.ts'
import { createLateAcceptances } from './late-acceptances.ts'

const acceptance = { transferId: 'one', attempt: 2, remoteId: 'remote-1' } as Settlement
const results = (result: SettleResult): SettleResults => new Map([['one 2', result]])
const lost = () => Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' })

/** A writer whose tries end as scripted; the last one repeats. */
function open(script: readonly (() => SettleResults | Promise<SettleResults>)[]) {
  const logger = recordingLogger()
  const tries: unknown[] = []
  let settled = 0
  const late = createLateAcceptances({
    settle: async (settlements) => {
      tries.push(...settlements)
      return (script[Math.min(tries.length, script.length) - 1] ?? lost)() as SettleResults
    },
    logger,
    onSettled: () => {
      settled += 1
    },
  })
  const levels = () => logger.entries.map(({ level }) => level)
  return { late, tries, levels, settled: () => settled }
}

const fail = () => {
  throw lost()
}

it('tries again after a failure and a lock, until the acceptance is written', async () => {
  const { late, tries, levels, settled } = open([fail, () => results('locked'), () => results('stale')])
  late.record(acceptance)
  await waitUntil(() => levels().length === 1)
  expect([tries.length, levels(), settled()]).toEqual([3, ['info'], 1])
})

it('is no record where the transfer is lost', async () => {
  const { late, tries, levels, settled } = open([() => results('gone')])
  late.record(acceptance)
  await waitUntil(() => levels().length === 1)
  expect([tries.length, levels(), settled()]).toEqual([1, ['error'], 0])
})

it('tries once more when the worker stops, and once for what comes afterwards', async () => {
  const { late, tries, levels } = open([fail])
  late.record(acceptance)
  await waitUntil(() => tries.length === 1)
  late.stop()
  await waitUntil(() => levels().length === 1)
  expect(tries).toHaveLength(2)
  late.record(acceptance)
  await waitUntil(() => levels().length === 2)
  expect([tries.length, levels()]).toEqual([3, ['error', 'error']])
})

it('gives up what Postgres refuses for its data', async () => {
  const { late, tries, levels } = open([
    () => {
      throw Object.assign(new Error('invalid input'), { code: '22P05' })
    },
  ])
  late.record(acceptance)
  await waitUntil(() => levels().length === 1)
  expect([tries.length, levels()]).toEqual([1, ['error']])
})

it('waits for nothing when the pool hangs', () => {
  const { late } = open([() => new Promise<never>(() => undefined)])
  expect(late.record(acceptance)).toBeUndefined()
  expect(late.stop()).toBeUndefined()
})
