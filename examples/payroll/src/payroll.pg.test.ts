import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('pays everyone once, through a killed worker, a rollback and an empty wallet', { timeout: 180_000 }, async () => {
  const main = fileURLToPath(new URL('main.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--people', '40'], { timeout: 170_000 })
  expect(stdout).toMatch(/payslips committed with their payouts +120\n/)
  expect(stdout).toMatch(/completed +114\n/)
  expect(stdout).toMatch(/R03 +3\n/)
  expect(stdout).toMatch(/lost +0\n/)
  expect(stdout).toMatch(/paid twice +0\n/)
})
