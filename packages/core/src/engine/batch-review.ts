import { Amount } from '../amount.ts'
import { OutlayError } from '../error.ts'
import { checkNames } from '../option-names.ts'
import type { BatchReview } from '../ports/batches.ts'

/** What somebody expects a batch to have; at least one member. */
export type ExpectedReview = Partial<BatchReview>

const memberNames = ['transfers', 'totals', 'digest']

const refuse = (field: string, message: string): OutlayError =>
  OutlayError.fromIssues([{ field: `expected${field}`, code: 'invalid_request', message }])

/**
 * Checks what is expected of a batch, before any SQL. A member that is there and undefined is refused: whoever computes it means to compare, and without it
 * anything would be approved.
 */
export function checkExpected(given: { readonly expected?: unknown } | undefined): void {
  if (given === undefined || given === null || !Object.hasOwn(given, 'expected')) return
  const { expected } = given
  if (expected === undefined)
    throw refuse('', 'is undefined; leave it out to approve whatever is held, or give what batches.review returned')
  checkNames(expected, memberNames, 'expected')
  const missing = Object.entries(expected as ExpectedReview).find(([, value]) => value === undefined)
  if (missing !== undefined)
    throw refuse(`.${missing[0]}`, 'is undefined; leave it out, or give what batches.review returned')
  const { transfers, totals, digest } = expected as ExpectedReview
  if (transfers === undefined && totals === undefined && digest === undefined)
    throw refuse('', 'must have transfers, totals or digest, as batches.review returns them')
  if (transfers !== undefined && (!Number.isSafeInteger(transfers) || transfers < 0))
    throw refuse('.transfers', 'must be a number of transfers')
  if (digest !== undefined && (typeof digest !== 'string' || !/^[0-9a-f]{64}$/.test(digest)))
    throw refuse('.digest', 'must be the digest that batches.review returned')
  if (totals !== undefined) checkTotals(totals)
}

function checkTotals(totals: unknown): void {
  if (typeof totals !== 'object' || totals === null || Array.isArray(totals))
    throw refuse('.totals', 'must be an object: the total of each currency, as decimal text')
  for (const [currency, value] of Object.entries(totals)) {
    if (typeof value !== 'string' || !/^\d{1,40}(\.\d{1,40})?$/.test(value))
      throw refuse(`.totals.${currency}`, 'must be a total as decimal text, such as 1500.00')
  }
}

/** Throws `conflict` with what differs, where a batch has other transfers to approve than somebody expects. */
export function compareReview(batchId: string, expected: ExpectedReview, found: BatchReview): void {
  const [differing] = [
    expected.transfers !== undefined && expected.transfers !== found.transfers ? 'transfers' : [],
    expected.totals !== undefined && !hasTotals(expected.totals, found.totals) ? 'totals' : [],
    expected.digest !== undefined && expected.digest !== found.digest ? 'digest' : [],
  ].flat()
  if (differing === undefined) return
  const sums = Object.entries(found.totals).map(([currency, value]) => `${value} ${currency}`)
  const has = `${found.transfers} to approve${sums.length === 0 ? '' : `, of ${sums.join(' and ')} in all`}`
  const message = `The batch ${batchId} has ${has}, and other ${differing === 'digest' ? 'transfers' : differing} than expected; nothing was approved. Review it again.`
  throw new OutlayError('conflict', message, { field: `expected.${differing}` })
}

const hasTotals = (expected: BatchReview['totals'], found: BatchReview['totals']): boolean => {
  const currencies = new Set([...Object.keys(expected), ...Object.keys(found)])
  const totalOf = (totals: BatchReview['totals'], currency: string) => ({ value: totals[currency] ?? '0', currency })
  return [...currencies].every((currency) => Amount.equals(totalOf(expected, currency), totalOf(found, currency)))
}
