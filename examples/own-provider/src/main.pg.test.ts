import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testDatabase } from '@outlay/testing/vitest'
import { expect, test } from 'vitest'

const { adminUrl } = await testDatabase()

test('the example pays each invoice once although an answer is lost, and receives the ends and a return by webhook', async () => {
  const env = { ...process.env, OUTLAY_TEST_DATABASE_URL: adminUrl, VITEST: undefined }
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main], { env, timeout: 100_000 })
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual([
    '1 answer was lost; the bank has 2 payments',
    'INV-1: complete',
    'INV-2: complete',
    'INV-3: failed',
    'INV-1: 125.00 USD came back (R03)',
    '900.05 USD are left',
  ])
})
