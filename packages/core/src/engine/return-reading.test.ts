import { describe, expect, it } from 'vitest'
import { createCatalog, defaultCatalog } from '../catalog.ts'
import type { ReturnLoad } from '../ports/work.ts'
import { decideReturnReading, longestReturnWindowMs } from './return-reading.ts'

const dayMs = 86_400_000

describe('the time in which money may come back', () => {
  it.each([
    [['base', 'ach_credit'], 6 * dayMs],
    [['base', 'same_day_ach_credit'], 6 * dayMs],
    [['ach_debit', 'base'], 60 * dayMs],
    [['ach_debit', 'ach_credit'], 60 * dayMs],
    [['base', 'polygon'], undefined],
    [['wire', 'base'], undefined],
    [['unheard_of', ''], undefined],
  ])('of %j is the longest of both ends', (transferTypes, windowMs) => {
    expect(longestReturnWindowMs(defaultCatalog, transferTypes)).toBe(windowMs)
  })

  it('is that of the catalog of the host', () => {
    const rail = {
      name: 'sepa_debit',
      family: 'bank',
      valueTypes: ['USD'],
      expectedMs: dayMs,
      returnWindowMs: 395 * dayMs,
    } as const
    expect(longestReturnWindowMs(createCatalog({ transferTypes: [rail] }), ['sepa_debit', 'base'])).toBe(395 * dayMs)
  })
})

describe('a reading of returns', () => {
  const load = (transfers: number, windowMs: number, more: Partial<ReturnLoad> = {}): ReturnLoad => ({
    ...{
      transfers,
      windowsPerMs: transfers / windowMs,
      endedWindowMs: null,
      isWanted: false,
      sinceMs: 0,
      requests: null,
    },
    ...more,
  })

  it('of few transfers reads those whose window has ended, or of which a return was reported', () => {
    expect(decideReturnReading(load(9, dayMs, { sinceMs: 100 * dayMs }))).toBeUndefined()
    expect(decideReturnReading(load(9, dayMs, { endedWindowMs: dayMs }))).toBe('single')
    expect(decideReturnReading(load(1, dayMs, { isWanted: true }))).toBe('single')
    expect(decideReturnReading(load(5_000, dayMs, { isWanted: true }))).toBe('single')
  })

  it('of many is due when their requests allow it, and a window after the last one where one has ended', () => {
    expect(decideReturnReading(load(1_000, dayMs, { sinceMs: 0.19 * dayMs }))).toBeUndefined()
    expect(decideReturnReading(load(1_000, dayMs, { sinceMs: 0.21 * dayMs }))).toBe('list')
    // The list has strangers between them.
    expect(decideReturnReading(load(1_000, dayMs, { sinceMs: 0.21 * dayMs, requests: 30 }))).toBeUndefined()
    expect(decideReturnReading(load(20, dayMs, { sinceMs: 0.99 * dayMs, endedWindowMs: dayMs }))).toBeUndefined()
    expect(decideReturnReading(load(20, dayMs, { sinceMs: dayMs, endedWindowMs: dayMs, requests: 30 }))).toBe('list')
  })

  it.each([
    [10, 0.1],
    [40, 0.1],
    [1_000, 0.1],
    [100_000, 0.1],
  ])(
    'costs %d transfers that are complete at once at most %d requests each over their whole window',
    (transfers, most) => {
      const windowMs = 60 * dayMs
      let [readMs, requests, last] = [0, 0, null as number | null]
      for (let ms = 0; ms <= 3 * windowMs; ms += dayMs / 4) {
        const endedWindowMs = ms >= windowMs ? windowMs : null
        if (
          decideReturnReading(load(transfers, windowMs, { sinceMs: ms - readMs, endedWindowMs, requests: last })) ===
          undefined
        )
          continue
        last = Math.ceil(transfers / 100)
        requests += last
        readMs = ms
        if (endedWindowMs !== null) break
      }
      expect(readMs).toBeGreaterThanOrEqual(windowMs)
      expect(requests / transfers).toBeLessThanOrEqual(most)
    },
  )
})
