import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testDatabase } from '@outlay/testing/vitest'
import { expect, test } from 'vitest'

const { adminUrl } = await testDatabase()

test('the example pays each invoice once, receives its webhook and lists it', async () => {
  const env = { ...process.env, OUTLAY_TEST_DATABASE_URL: adminUrl, VITEST: undefined }
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main], { env, timeout: 55_000 })
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual([
    'INV-41 is on its way; paid again, it is the same transfer',
    'INV-42 is on its way; paid again, it is the same transfer',
    'INV-43 waits for funds; pay it again, with the same key',
    'verified webhooks report that both payouts are complete',
    'INV-42: 99.95 USD, complete',
    'INV-41: 1250.00 USD, complete',
    '3650.05 USDC are left',
  ])
})
