import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testDatabase } from '@outlay/testing/vitest'
import { expect, test } from 'vitest'

const { adminUrl } = await testDatabase()

test('the example prints the one trace of its payout that the guide shows', async () => {
  const env = { ...process.env, OUTLAY_TEST_DATABASE_URL: adminUrl, VITEST: undefined }
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main], { env, timeout: 55_000 })
  expect(stderr).toBe('')
  const tree = stdout.slice(stdout.indexOf('\ntrace ') + 1).trimEnd()
  expect(tree).toMatch(/^trace [0-9a-f]{32}\n/)
  const lines = tree.split('\n').slice(1)
  const guide = readFileSync(new URL('../../../docs/guides/telemetry.md', import.meta.url), 'utf8')
  const [, documented = ''] = /```text\ntrace [0-9a-f]{32}\n([\s\S]*?)\n```/.exec(guide) ?? []
  expect(documented.split('\n').length).toBeGreaterThan(10)
  for (const line of documented.split('\n')) {
    expect(lines).toContain(line)
  }
})
