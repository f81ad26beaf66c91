import { describe, expect, it } from 'vitest'
import { readFiles } from './repository.ts'
import { findWaitsWithoutLimit } from './waits.ts'

describe('every wait of Vitest', () => {
  it('has a time limit of its own', () => {
    expect(readFiles().flatMap(findWaitsWithoutLimit)).toEqual([])
  })
})

describe('the check of waits', () => {
  const check = (text: string) => findWaitsWithoutLimit({ path: 'packages/core/src/a.test.ts', text })

  it.each(['vi.waitFor(() => {})', 'await vi.waitUntil(() => true)', 'vi.waitFor(() => {}, { interval: 5 })'])(
    'reports %s',
    (text) => {
      expect(check(text)).toHaveLength(1)
    },
  )

  it.each([
    'vi.waitFor(() => {}, 60_000)',
    'vi.waitFor(() => {}, { timeout: 60_000 })',
    'vi.waitFor(() => {}, patience)',
  ])('accepts %s', (text) => {
    expect(check(text)).toEqual([])
  })
})
