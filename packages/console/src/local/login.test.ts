import { expect, it } from 'vitest'
import { createLogin } from './login.ts'

/** A login, and a clock. */
function make() {
  const clock = { now: 0 }
  return { clock, login: createLogin(() => clock.now) }
}

it('lets in who has the token, once', () => {
  const { login } = make()
  expect(login.exchange(`${login.token}x`)).toBe(undefined)
  expect(login.knows('')).toBe(false)
  const session = login.exchange(login.token) ?? ''
  expect([login.knows(session), login.knows(login.token), login.knows(`${session}x`)]).toEqual([true, false, false])
  expect(login.exchange(login.token)).toBe(undefined)
})

it('lets nobody in by an old link, also later', () => {
  const { login, clock } = make()
  clock.now = 600_001
  expect(login.exchange(login.token)).toBe(undefined)
  clock.now = 0
  expect(login.exchange(login.token)).toBe(undefined)
})

it('ends a session after half a day', () => {
  const { login, clock } = make()
  const session = login.exchange(login.token) ?? ''
  clock.now = 12 * 3_600_000
  expect(login.knows(session)).toBe(true)
  clock.now += 1
  expect(login.knows(session)).toBe(false)
})
