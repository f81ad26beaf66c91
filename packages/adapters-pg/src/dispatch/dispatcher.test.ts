import { waitUntil } from '@outlay/testing'
import { expect, it } from 'vitest'
import { startDispatcher } from './dispatcher.ts'

type Options = Parameters<typeof startDispatcher<unknown>>[0]

/** A dispatcher on a queue that stays empty, which it polls only after a wake-up. */
function startOnEmptyQueue() {
  const counts = { fetches: 0 }
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const options = {
    attempts: {
      fetch: async () => {
        counts.fetches += 1
        return []
      },
      settle: async () => [],
    },
    handlers: { gateways: ['default'] },
    guard: { mayClaim: () => true, isStopped: () => false },
    logger: silent,
    concurrency: 10,
    pollIntervalMs: 3_600_000,
  } as unknown as Options
  return { counts, dispatcher: startDispatcher(options) }
}

it('polls again soon after a wake-up, since a host announces one commit of several that are close together', async () => {
  const { counts, dispatcher } = startOnEmptyQueue()
  try {
    await waitUntil(() => counts.fetches === 1)
    let wakes = 0
    // One poll for each wake-up would never be enough.
    await waitUntil(() => {
      if (counts.fetches > wakes + 1) return true
      dispatcher.wake()
      wakes += 1
      return false
    })
    expect(counts.fetches).toBeGreaterThan(wakes + 1)
  } finally {
    await dispatcher.stop(0)
  }
})

it('asks for transfers to a stopped gateway in one of ten fetches, and where nothing else is left', async () => {
  const asked: boolean[] = []
  let left = 40
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const options = {
    attempts: {
      fetch: async (_size: number, _worker: string, handlers: { readonly gateways: readonly string[] }) => {
        asked.push(handlers.gateways.includes('second'))
        left -= 1
        return left < 0 ? [] : [{ id: '018f0000-0000-7000-8000-000000000000', retryCount: 0, claim: undefined }]
      },
      claim: async () => [],
      settle: async () => [],
    },
    handlers: { gateways: ['default', 'second'] },
    throttler: { expectWaiting() {} },
    guard: { mayClaim: () => true, isStopped: (name: string) => name === 'second' },
    logger: silent,
    concurrency: 10,
    pollIntervalMs: 1,
  } as unknown as Options
  const dispatcher = startDispatcher(options)
  try {
    await waitUntil(() => asked.length >= 45)
    expect(asked.slice(0, 40).filter(Boolean)).toHaveLength(4)
    expect(asked.slice(41, 45)).toEqual([true, true, true, true])
  } finally {
    await dispatcher.stop(0)
  }
})
