import { expect, it } from 'vitest'
import { createShares } from './shares.ts'

it('gives one account half of the calls, and half of what is held until it is written', () => {
  const shares = createShares(4)
  expect([shares.mostEach, shares.room(4)]).toEqual([2, 4])
  const [first, second] = [shares.begin('acme'), shares.begin('acme')]
  expect([shares.room(4), shares.room(1), shares.underWay().get('acme')]).toEqual([2, -1, 2])
  // Its answers have come, and somebody has locked the transfers.
  first.answered()
  second.answered()
  expect([shares.room(4), shares.underWay().get('acme')]).toEqual([4, 0])
  const others = Array.from({ length: 6 }, () => shares.begin('acme'))
  for (const { answered } of others) answered()
  // Eight are held of sixteen: as if it had two calls under way.
  expect([shares.room(4), shares.underWay().get('acme')]).toEqual([4, 2])
  first.written()
  expect(shares.underWay().get('acme')).toBe(1)
  const beta = Array.from({ length: 8 }, () => shares.begin('beta'))
  for (const { answered } of beta) answered()
  expect([shares.room(4), shares.underWay().get('beta')]).toEqual([1, 2])
  for (const { written } of [second, ...others, ...beta]) written()
  expect(shares.underWay().size).toBe(0)
})
