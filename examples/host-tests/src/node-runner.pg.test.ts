import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testDatabase } from '@outlay/testing/vitest'
import { expect, test } from 'vitest'

const { adminUrl } = await testDatabase()

/** Makes the process fail that loads vitest. */
const refuseVitest = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from 'node:module'
registerHooks({ resolve(name, context, next) {
  if (name === 'vitest' || name.startsWith('vitest/')) throw new Error('There is no vitest here.')
  return next(name, context)
} })`)}`

test("the tests for Node's own runner pass, without vitest", async () => {
  const env = { ...process.env, OUTLAY_TEST_DATABASE_URL: adminUrl, NODE_OPTIONS: undefined, VITEST: undefined }
  const file = fileURLToPath(new URL('payouts.node.ts', import.meta.url))
  const args = ['--import', refuseVitest, '--test', '--test-reporter=tap', file]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 170_000 })
  expect(stdout).toMatch(/^# pass 1$/m)
  expect(stdout).toMatch(/^# fail 0$/m)
}, 180_000)
