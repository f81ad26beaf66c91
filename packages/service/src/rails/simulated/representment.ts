import { achReturnFailure } from './ach-return.ts'
import { maxPresentments, retriableReturns } from './magic.ts'
import type { PaymentStep, Route, StoredRailPayment } from './rail-payments.ts'
import { traceNumber } from './reference.ts'
import { representsAt, returnsAt, settlesAt } from './timing.ts'

/** True when the rail presents the payment again after this presentment was returned with `code`. */
export function isRepresented(code: string, route: Pick<Route, 'flow' | 'source'>, presentment: number): boolean {
  const isDebit = route.flow === 'onramp' && route.source === 'ach_debit'
  return isDebit && retriableReturns.includes(code) && presentment < maxPresentments
}

/**
 * The payment after its due step has been reported, with the next step. Times of a debit that is presented again are counted from
 * the step, not from the report, so they do not depend on how the clock moves.
 * Each presentment has its own trace number, which the payment details of the source show. The reference stays that of the first,
 * because it identifies the payment.
 */
export async function nextStep(
  payment: StoredRailPayment,
  reportedAt: Date,
  nextSequence: () => Promise<number>,
): Promise<PaymentStep> {
  const { transfer_id, failure, source, statement_line, represented_at, route } = payment
  const presentment = payment.presentment ?? 1
  const same = { transfer_id, failure, source, statement_line, presentment, represented_at: isoOf(represented_at) }
  const at = payment.next_at ?? reportedAt
  if (payment.next_state === 'returned' && failure?.retriable === true) {
    const again = representsAt(at).toISOString()
    return {
      ...same,
      next_state: 'accepted',
      next_at: again,
      presentment: presentment + 1,
      represented_at: again,
      source: { paymentDetails: { ...source?.paymentDetails, traceNumber: traceNumber(await nextSequence()) } },
      statement_line: statement_line && { ...statement_line, entryDescription: 'RETRY PYMT' },
    }
  }
  if (payment.next_state !== 'accepted') return { ...same, next_state: null, next_at: null }
  if (represented_at === null) {
    return { ...same, next_state: 'settled', next_at: new Date(reportedAt.getTime() + route.settleMs).toISOString() }
  }
  const { bounces } = route
  if (bounces === undefined || presentment > bounces.times) {
    return { ...same, failure: null, next_state: 'settled', next_at: settlesAt(route.source, at).toISOString() }
  }
  const returns = returnsAt(at)
  const returned = achReturnFailure(bounces.code, returns, isRepresented(bounces.code, route, presentment)) ?? null
  return { ...same, failure: returned, next_state: 'returned', next_at: returns.toISOString() }
}

function isoOf(date: Date | null): string | null {
  return date === null ? null : date.toISOString()
}
