import { OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { isConnectionLost, unlessConnectionLost } from './connection-lost.ts'

const coded = (code: string) => Object.assign(new Error('no'), { code })

it.each([
  ['08006', true],
  ['57P01', true],
  ['57P03', true],
  ['53300', true],
  ['ECONNRESET', true],
  ['57014', false],
  ['23505', false],
  ['0A000', false],
])('an error with the code %s: %s', (code, expected) => {
  expect(isConnectionLost(coded(code))).toBe(expected)
})

it.each([
  ['Connection terminated unexpectedly', true],
  ['Client has encountered a connection error and is not queryable', true],
  ['timeout exceeded when trying to connect', true],
  ['The account was not written.', false],
])('an error that says %s: %s', (message, expected) => {
  expect(isConnectionLost(new Error(message))).toBe(expected)
})

it('a refusal stays what it is, and so does what is no error', () => {
  const refusal = new OutlayError('conflict', 'Connection terminated')
  for (const one of [refusal, 'ECONNRESET', undefined]) expect(unlessConnectionLost(one)).toBe(one)
})

it('a statement that took too long is a refusal to be repeated', () => {
  const slow = coded('57014')
  const refusal = unlessConnectionLost(slow)
  expect(refusal).toMatchObject({ code: 'service_unavailable', retryAfterMs: 5_000, cause: slow })
})

it('a statement that waited too long for a lock is a refusal to be repeated', () => {
  const late = coded('55P03')
  expect(unlessConnectionLost(late)).toMatchObject({ code: 'service_unavailable', retryAfterMs: 1_000, cause: late })
})
