import { expect, it } from 'vitest'
import { createLockedTransfers } from './locked-transfers.ts'

it('a locked transfer is tried again after a pause that doubles up to half a minute, until it is forgotten', () => {
  let now = 0
  const locked = createLockedTransfers(() => now)
  expect([locked.stateOf('a'), locked.stateOf(undefined)]).toEqual(['free', 'free'])
  for (const pause of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
    locked.add('a')
    now += pause - 1
    expect(locked.stateOf('a')).toBe('locked')
    now += 1
    expect(locked.stateOf('a')).toBe('due')
  }
  locked.forget('a')
  expect(locked.stateOf('a')).toBe('free')
})

it('of very many, the one that was locked first is tried as all others are', () => {
  const locked = createLockedTransfers(() => 0)
  for (let index = 0; index <= 10_000; index += 1) locked.add(`t${index}`)
  expect([locked.stateOf('t0'), locked.stateOf('t1'), locked.stateOf('t10000')]).toEqual(['free', 'locked', 'locked'])
})
