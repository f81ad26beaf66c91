import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const folder = new URL('./', import.meta.url)
const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.includes('.test.'))
const filesWith = (pattern: RegExp) =>
  files.filter((name) => pattern.test(readFileSync(new URL(name, folder), 'utf8'))).sort()

test('requests run as the system only to find out who calls, and to bring in play money', () => {
  expect(filesWith(/\b(asSystem|inTransaction)\(/)).toEqual([
    'authenticate.ts',
    'oauth-routes.ts',
    'simulations-routes.ts',
  ])
  expect(filesWith(/\bpool\b/)).toEqual([])
})
