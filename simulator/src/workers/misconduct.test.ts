import { expect, it } from 'vitest'
import { createMisconduct } from './misconduct.ts'

const how = { forMs: null, nonsense: 0, times: 1 } as const

it('misbehaves as often as planned, for one account and one place', async () => {
  const misconduct = createMisconduct()
  misconduct.plan('one', 'gateway', { ...how, how: 'nonsense' })
  const intercept = (accountId: string) =>
    misconduct.intercept<unknown>(accountId, 'gateway', async () => 'proper', [{}])
  expect(await intercept('two')).toBe('proper')
  expect(misconduct.concerns('one')).toBe(true)
  expect(await intercept('one')).toEqual({})
  expect(await intercept('one')).toBe('proper')
  expect(misconduct.concerns('one')).toBe(false)
})

it('throws at once, not by a promise', () => {
  const misconduct = createMisconduct()
  misconduct.plan('one', 'vault', { ...how, how: 'throw' })
  expect(() => misconduct.intercept('one', 'vault', async () => 'proper', [])).toThrow(TypeError)
})

it('hangs until it is ended, and concerns its account for so long', async () => {
  const misconduct = createMisconduct()
  misconduct.plan('one', 'handler', { ...how, how: 'hang' })
  const hanging = misconduct.intercept('one', 'handler', async () => 'proper', [])
  expect([misconduct.concerns('one'), misconduct.isHanging()]).toEqual([true, true])
  misconduct.heal()
  await expect(hanging).rejects.toThrow('hung')
  expect([misconduct.concerns('one'), misconduct.isHanging()]).toEqual([false, false])
})
