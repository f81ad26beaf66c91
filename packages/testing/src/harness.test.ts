import type { Backlog } from '@outlay/core'
import { describe, expect, test } from 'vitest'
import { drain, waitUntil } from './harness.ts'

const empty: Backlog = {
  queued: 0,
  submitting: 0,
  held: 0,
  awaitingFunds: 0,
  submitted: 0,
  blocked: 0,
  settled: 0,
  undelivered: 0,
  deadLetters: 0,
}

/** An engine whose backlog takes these values one after another; the last one stays. */
const engineWith = (...backlogs: [Partial<Backlog>, ...Partial<Backlog>[]]) => ({
  backlog: async () => ({ ...empty, ...(backlogs.length > 1 ? backlogs.shift() : backlogs[0]) }),
})

describe('drain', () => {
  test('returns when nothing is queued, submitting, submitted or undelivered', async () => {
    const engine = engineWith({ queued: 1 }, { submitting: 1 }, { submitted: 1 }, { undelivered: 1 }, { settled: 1 })
    expect(await drain(engine)).toEqual({ ...empty, settled: 1 })
  })

  test('does not wait for transfers that await funds or a person, unless the options say so', async () => {
    const waiting = { awaitingFunds: 2, blocked: 3 }
    expect(await drain(engineWith(waiting))).toMatchObject(waiting)
    await expect(drain(engineWith(waiting), { awaitingFunds: true, timeoutMs: 30 })).rejects.toThrow(
      '"awaitingFunds":2',
    )
    await expect(drain(engineWith(waiting), { blocked: true, timeoutMs: 30 })).rejects.toThrow('"blocked":3')
  })

  test('uses a condition of the caller', async () => {
    const engine = engineWith({ queued: 5 }, { queued: 5, blocked: 1 })
    expect(await drain(engine, { until: (backlog) => backlog.blocked === 1 })).toMatchObject({ queued: 5, blocked: 1 })
  })
})

describe('waitUntil', () => {
  test('returns the final result of the probe, including zero and null', async () => {
    const answers = [undefined, false, 0] as const
    let at = 0
    expect(await waitUntil<number>(() => answers[at++])).toBe(0)
    expect(await waitUntil(() => null)).toBeNull()
  })

  test('reports what it waited for', async () => {
    await expect(waitUntil(() => false, { timeoutMs: 1, describe: 'the moon' })).rejects.toThrow('1 ms for the moon')
  })

  test('rethrows errors of the probe', async () => {
    await expect(waitUntil(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  })
})
