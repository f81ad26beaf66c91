import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { testDatabase } from '@outlay/testing/vitest'
import { expect, test } from 'vitest'

const { adminUrl } = await testDatabase()

test('the example prints the one trace of its payout, from the request of the host to its handler', async () => {
  const env = { ...process.env, OUTLAY_TEST_DATABASE_URL: adminUrl, VITEST: undefined }
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main], { env, timeout: 55_000 })
  expect(stderr).toBe('')
  const tree = stdout.slice(stdout.indexOf('\ntrace ') + 1).trimEnd()
  expect(tree).toMatch(/^trace [0-9a-f]{32}\n/)
  const lines = tree.split('\n').slice(1)
  for (const line of [
    'payroll   POST /payday',
    'payroll     outlay enqueue',
    'payroll       outlay submit accepted',
    'payroll         POST /oauth2/token 200',
    'payroll         POST /accounts/{account_id}/transfers 201',
    'bank              POST /accounts/:account_id/transfers 201',
    'bank                outlay enqueue',
    'bank                  outlay submit accepted',
    'bank                  outlay handle service transfer.completed',
    'payroll       outlay handle payslips transfer.completed',
    'payroll         write payslip',
  ]) {
    expect(lines).toContain(line)
  }
})
