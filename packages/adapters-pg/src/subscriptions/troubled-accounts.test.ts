import { describe, expect, it } from 'vitest'
import { createTroubledAccounts } from './troubled-accounts.ts'

describe('an account whose events fail', () => {
  it('rests from its third failure on, for twice as long as that took', () => {
    let now = 0
    const troubled = createTroubledAccounts(1_000, () => now)
    for (let count = 0; count < 2; count += 1) troubled.failed('slow', 5_000)
    expect([troubled.all(), troubled.resting()]).toEqual([['slow'], []])
    troubled.failed('slow', 5_000)
    now = 9_999
    expect(troubled.resting()).toEqual(['slow'])
    now = 10_000
    expect(troubled.resting()).toEqual([])
    troubled.failed('slow', 500_000)
    now += 60_000
    expect(troubled.resting()).toEqual([])
  })

  it('is tried on without a pause while it fails at once, however often', () => {
    const troubled = createTroubledAccounts(1_000, () => 0)
    for (let count = 0; count < 100; count += 1) troubled.failed('quick', 0)
    expect([troubled.all(), troubled.resting()]).toEqual([['quick'], []])
  })

  it('is no longer troubled after the first event that is handled', () => {
    const troubled = createTroubledAccounts(1_000, () => 0)
    for (let count = 0; count < 3; count += 1) troubled.failed('acme', 1_000)
    expect(troubled.resting()).toEqual(['acme'])
    troubled.handled('acme', 5)
    expect([troubled.all(), troubled.resting()]).toEqual([[], []])
  })
})

describe('an account that may hold a loop for long', () => {
  it('is one whose first event is being handled, until that was quick', () => {
    const troubled = createTroubledAccounts(1_000)
    const end = troubled.begin(['new', 'new', 'other'])
    expect(troubled.doubtful()).toEqual(['new', 'other'])
    troubled.handled('new', 1_000)
    expect(troubled.doubtful()).toEqual(['other'])
    end()
    expect(troubled.doubtful()).toEqual([])
  })

  it('is one whose last event was slow or failed, though nothing of it is being handled', () => {
    const troubled = createTroubledAccounts(1_000)
    troubled.handled('slow', 1_001)
    troubled.failed('broken', 1)
    expect([troubled.doubtful(), troubled.all()]).toEqual([['broken', 'slow'], ['broken']])
    troubled.handled('slow', 5)
    troubled.handled('broken', 5)
    expect(troubled.doubtful()).toEqual([])
  })
})
