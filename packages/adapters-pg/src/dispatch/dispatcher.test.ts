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
    guard: { mayClaim: () => true },
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
