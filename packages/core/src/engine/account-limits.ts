import { type Issue, OutlayError } from '../error.ts'
import type { AccountLimitsChange } from '../ports/accounts.ts'

/** The range of a limit. */
interface Range {
  readonly min: number
  readonly max: number
  readonly integer?: true
}

const ranges: { readonly [K in keyof AccountLimitsChange]-?: Range } = {
  ratePerSecond: { min: 0.01, max: 100_000 },
  concurrency: { min: 1, max: 100_000, integer: true },
  weight: { min: 0.01, max: 100 },
}

const accountIdPattern = /^[\x21-\x7e]{1,255}$/

/**
 * Checks a change of an account's limits, before any SQL.
 * @throws OutlayError `invalid_id` for the account; `invalid_request` for a limit out of its range or an unknown one.
 */
export function checkAccountLimits(accountId: string, change: AccountLimitsChange): AccountLimitsChange {
  const issues: Issue[] = []
  if (typeof accountId !== 'string' || !accountIdPattern.test(accountId)) {
    const message = 'must be the id of the account at the service: 1 to 255 visible ASCII characters'
    issues.push({ field: 'accountId', code: 'invalid_id', message })
  }
  if (typeof change !== 'object' || change === null) {
    issues.push({ field: '', code: 'invalid_request', message: 'must be an object of limits' })
  }
  for (const [field, value] of Object.entries(change ?? {})) {
    const message = checkLimit(field, value)
    if (message !== undefined) issues.push({ field, code: 'invalid_request', message })
  }
  const [first, ...rest] = issues
  if (first !== undefined) throw OutlayError.fromIssues([first, ...rest])
  return change
}

function checkLimit(field: string, value: unknown): string | undefined {
  if (!Object.hasOwn(ranges, field)) return `is no limit; there are ${Object.keys(ranges).join(', ')}`
  const { min, max, integer } = ranges[field as keyof AccountLimitsChange]
  if (value === undefined || value === null) return undefined
  const kind = integer ? 'an integer' : 'a number'
  const isRight = integer ? Number.isInteger(value) : Number.isFinite(value)
  return isRight && (value as number) >= min && (value as number) <= max
    ? undefined
    : `must be ${kind} from ${min} to ${max}, or null to reset it`
}
