import { OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { startWhenReachable } from './start.ts'

/** A start that fails so often, and the pauses between its tries. */
function open(failures: number, { error = new Error('connect ECONNREFUSED'), waits = true } = {}) {
  const stopping = new AbortController()
  const pauses: number[] = []
  const reported: string[] = []
  let tries = 0
  const starting = startWhenReachable(
    async () => {
      tries += 1
      if (tries <= failures) throw error
    },
    {
      signal: stopping.signal,
      onFailure: (failure) => void reported.push(failure.error),
      ...(waits ? {} : { pause: async (ms: number) => void pauses.push(ms) }),
    },
  )
  return { starting, stopping, pauses, reported, tries: () => tries }
}

it('a start that fails is tried again, in pauses that double up to thirty seconds', async () => {
  const { starting, pauses, reported } = open(7, { waits: false })
  expect(await starting).toBe(true)
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  expect(new Set(reported)).toEqual(new Set(['connect ECONNREFUSED']))
})

it('a start that the engine refuses fails at once', async () => {
  const { starting, reported } = open(1, { error: new OutlayError('not_migrated', 'The schema lacks 0001.') })
  await expect(starting).rejects.toMatchObject({ code: 'not_migrated' })
  expect(reported).toEqual([])
})

it('a signal ends the wait for the next try', async () => {
  const { starting, stopping, tries } = open(1_000)
  stopping.abort()
  expect([await starting, tries()]).toEqual([false, 1])
})
