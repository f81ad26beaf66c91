import { expect, test } from 'vitest'
import { parseTicks } from './server-time.ts'

const line = (name: string) => `4711 (${name}) S 1 2 3 0 -1 4194560 9 8 7 6 120 35 0 0 20 0 1 0 12345 9 8 7`

test('user and system time are added up', () => {
  expect(parseTicks(line('postgres'))).toBe(155)
})

test('a name with blanks and brackets does not shift the fields', () => {
  expect(parseTicks(line('postgres: a) b'))).toBe(155)
})

test('another program is nobody’s session', () => {
  expect(parseTicks(line('node'))).toBeNull()
})
