import { describe, expect, it } from 'vitest'
import { OutlayError } from '../error.ts'
import type { AccountLimitsChange } from '../ports/accounts.ts'
import { checkAccountLimits } from './account-limits.ts'

const refusal = (change: unknown, accountId = 'acme') => {
  try {
    checkAccountLimits(accountId, change as AccountLimitsChange)
  } catch (error) {
    if (OutlayError.is(error)) return error.issues.map(({ field, code }) => `${field}: ${code}`)
    throw error
  }
  return undefined
}

describe('a change of limits', () => {
  it('may set, leave and reset each of them', () => {
    const change = { ratePerSecond: 0.5, concurrency: null, weight: undefined }
    expect(checkAccountLimits('acme', change)).toBe(change)
    expect(refusal({})).toBeUndefined()
  })

  it.each([
    { ratePerSecond: 0.01, concurrency: 1, weight: 0.01 },
    { ratePerSecond: 100_000, concurrency: 100_000, weight: 100 },
    { ratePerSecond: 2.5, concurrency: 2, weight: 1.5 },
  ])('may go to the ends of their ranges: %j', (change) => {
    expect(checkAccountLimits('acme', change)).toBe(change)
  })

  it('is refused for what is no id of an account', () => {
    for (const accountId of ['', 'a b', 5, null]) {
      expect(refusal({}, accountId as string)).toEqual(['accountId: invalid_id'])
    }
  })

  it.each([
    [{ ratePerSecond: 0 }, 'ratePerSecond'],
    [{ ratePerSecond: -1 }, 'ratePerSecond'],
    [{ ratePerSecond: Number.NaN }, 'ratePerSecond'],
    [{ ratePerSecond: Number.POSITIVE_INFINITY }, 'ratePerSecond'],
    [{ ratePerSecond: '5' }, 'ratePerSecond'],
    [{ ratePerSecond: 100_001 }, 'ratePerSecond'],
    [{ concurrency: 0 }, 'concurrency'],
    [{ concurrency: 100_001 }, 'concurrency'],
    [{ concurrency: 1.5 }, 'concurrency'],
    [{ weight: 101 }, 'weight'],
    [{ weight: 0 }, 'weight'],
    [{ rate: 5 }, 'rate'],
    [null, ''],
    [5, ''],
  ])('is refused when it makes no sense: %j', (change, field) => {
    expect(refusal(change)).toEqual([`${field}: invalid_request`])
  })

  it('names every limit that is wrong, and the account', () => {
    expect(refusal({ ratePerSecond: 0, concurrency: 0 }, 'a b')).toEqual([
      'accountId: invalid_id',
      'ratePerSecond: invalid_request',
      'concurrency: invalid_request',
    ])
  })
})
