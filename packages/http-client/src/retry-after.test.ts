import { expect, test } from 'vitest'
import { readRetryAfterMs } from './retry-after.ts'

const now = new Date('1994-11-06T08:49:00Z')

test.each([
  ['0', 0],
  ['7', 7_000],
  [' 120 ', 120_000],
  ['0.5', 500],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
  ['Sun Nov  6 08:49:37 1994', 37_000],
  ['Sun, 06 Nov 1994 08:48:00 GMT', 0],
  ['999999999', 86_400_000],
  ['Mon, 06 Nov 2034 08:49:37 GMT', 86_400_000],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1e3', undefined],
  [undefined, undefined],
])('%j is %j milliseconds', (header, expected) => {
  expect(readRetryAfterMs(header, now)).toBe(expected)
})
