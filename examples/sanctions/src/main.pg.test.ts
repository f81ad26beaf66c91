import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testDatabase } from '@outlay/testing/vitest'
import { expect, test } from 'vitest'

const { adminUrl } = await testDatabase()

test('the example pays whom the list does not have, and whom somebody let pass', async () => {
  const env = { ...process.env, OUTLAY_TEST_DATABASE_URL: adminUrl, VITEST: undefined }
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main], { env, timeout: 100_000 })
  expect(stderr).toBe('')
  expect(stdout.trim().split('\n')).toEqual([
    'ada: pass (3 entries, none like it)',
    'ivan: refuse, case L-1 (Sidorov, Ivan is Ivan Petrovich Sidorov of the list)',
    'jose: hold, case L-3 (Jose Alvarez is like José Álvarez Ruiz of the list)',
    'nobody: hold (nobody knows the name of the payee)',
    'paid: ada, jose',
  ])
})
