import { describe, expect, it } from 'vitest'
import { createRouteCache } from './route-cache.ts'

const make = (options: { size?: number; maxAgeMs?: number } = {}) => {
  let nowMs = 0
  const cache = createRouteCache({ size: 10, maxAgeMs: 1_000, ...options, realTimeMs: () => nowMs })
  const read = (accountId: string, node: string) => {
    const reading = cache.begin(accountId)
    reading.keep(node)
    reading.end()
  }
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { cache, read, pass }
}

describe('the cache of routes', () => {
  it('keeps a route until it is announced that it has changed', () => {
    const { cache, read } = make()
    read('a', 'east')
    read('b', 'east')
    cache.forget('a')
    expect([cache.fresh('a'), cache.fresh('b')]).toEqual([undefined, 'east'])
    cache.forget()
    expect(cache.fresh('b')).toBeUndefined()
  })

  it.each([
    ['that account', 'a'],
    ['all accounts', undefined],
  ])('drops what a read gives that began before %s changed', (_, changed) => {
    const { cache } = make()
    const reading = cache.begin('a')
    cache.forget(changed)
    reading.keep('east')
    reading.end()
    expect([reading.isStale(), cache.fresh('a')]).toEqual([true, undefined])
  })

  it('keeps what a read gives that began after the change, beside an older one', () => {
    const { cache } = make()
    const older = cache.begin('a')
    cache.forget('a')
    const newer = cache.begin('a')
    newer.keep('west')
    newer.end()
    older.keep('east')
    older.end()
    expect(cache.fresh('a')).toBe('west')
  })

  it('has a route of any age while the directory does not answer', () => {
    const { cache, read, pass } = make()
    read('a', 'east')
    pass(1_000)
    expect([cache.fresh('a'), cache.any('a')]).toEqual([undefined, 'east'])
  })

  it('keeps no more routes than it may, and drops the one that was read first', () => {
    const { cache, read } = make({ size: 2 })
    for (const account of ['a', 'b', 'a', 'c']) read(account, 'east')
    expect(['a', 'b', 'c'].map(cache.fresh)).toEqual(['east', undefined, 'east'])
  })
})
