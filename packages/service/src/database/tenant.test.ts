import { globSync, readFileSync } from 'node:fs'
import { sep } from 'node:path'
import { expect, test } from 'vitest'

const root = new URL('../', import.meta.url)
const files = globSync('**/*.ts', { cwd: root })
  .map((path) => path.split(sep).join('/'))
  .filter((path) => !path.includes('.test.'))
const filesWith = (pattern: RegExp, among: readonly string[]) =>
  among.filter((path) => pattern.test(readFileSync(new URL(path, root), 'utf8'))).sort()

/** Files that run while a request is answered, except the stores that they call. */
const answering = files.filter(
  (path) =>
    /^(http|idempotency)\//.test(path) ||
    /routes\.ts$/.test(path) ||
    /^clients\/(authenticate|credential-checks)\.ts$/.test(path),
)

test('requests run as the system only to authenticate the caller, and to add play money', () => {
  expect(answering.length).toBeGreaterThan(20)
  expect(filesWith(/\b(asSystem|asWorker|inTransaction|inWorkerTransaction)\(/, answering)).toEqual([
    'clients/credential-checks.ts',
    'simulations/routes.ts',
  ])
  expect(filesWith(/\bpool\b(?!-share)/, answering)).toEqual([])
})

test('besides them, only workers, simulated sides and functions for deployers run as the system', () => {
  const others = files.filter((path) => !answering.includes(path))
  expect(filesWith(/\b(asSystem|asWorker|inTransaction|inWorkerTransaction)\(/, others)).toEqual([
    'accounts/onboarding.ts',
    'automations/deposits.ts',
    'automations/opening.ts',
    'bank-links/logins.ts',
    'bank-links/simulated.ts',
    'database/tenant.ts',
    'housekeeping.ts',
    'key-check.ts',
    'rail-exceptions/rail-exceptions.ts',
    'rail-facts/polled-transfers.ts',
    'rail-facts/unreadable-report.ts',
    'rails/simulated/fact-ticker.ts',
    'rails/simulated/simulated-rails.ts',
    'rails/simulated/virtual-accounts.ts',
    'rails/simulated/virtual-clock.ts',
    'sandbox/sandbox.ts',
    'service.ts',
    'transfers/cancellation.ts',
    'transfers/expiry.ts',
    'transfers/facts.ts',
    'transfers/instructions.ts',
    'webhooks/delivery-attempt.ts',
    'webhooks/delivery-worker.ts',
  ])
})
