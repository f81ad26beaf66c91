import { type Amount, type TransferFailure, TransferStatus } from '@outlay/core'
import type { RailFact } from '../rails/port.ts'
import { type EarlierProgress, isMarkedAlike, isProgress, mayBeSameArrival, type StrayArrival } from './arrival.ts'
import type { RailFactKind } from './fact-kind.ts'
import { isCreditable } from './moved-amount.ts'

/** What is known of a transfer for which money may have arrived. */
interface FundedTransfer {
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  readonly failedAt?: string | undefined
  readonly amount: Amount
  readonly awaitsWire: boolean
  readonly appliedKinds: readonly RailFactKind[]
  readonly progress: readonly EarlierProgress[]
  readonly strays?: readonly StrayArrival[] | undefined
}

/** The money of a wire that has arrived and is neither credited nor held; `undefined` for every other fact. */
export function receiptOf(
  fact: RailFact,
  transfer: FundedTransfer,
  { scale }: { readonly scale: number },
): Amount | undefined {
  if (!transfer.awaitsWire || !isProgress(fact) || hasArrivedBefore(fact, transfer)) return undefined
  if (transfer.strays?.some((one) => isMarkedAlike(fact, one.fact))) return undefined
  return isCreditable(fact.amount, transfer.amount.currency, scale) ? fact.amount : undefined
}

/** What comes behind the end is another wire than the one that went back with it. That of a transfer that has failed otherwise is an exception of its own by then. */
function hasArrivedBefore(fact: RailFact, transfer: FundedTransfer): boolean {
  const { status, failure, appliedKinds, progress } = transfer
  const isFailed = status === 'failed' && TransferStatus.isFinal(status, failure)
  const isGone = isBehindFailure(fact, transfer) && (isFailed || appliedKinds.includes('returned'))
  return progress.some(
    (one) => one.isUnbooked !== true && !(isGone && one.isApplied) && mayBeSameArrival(fact, one.fact),
  )
}

/** True for progress that says a time behind the failure of its transfer. */
export function isBehindFailure(
  { reachedAt }: RailFact,
  { failure, failedAt }: Pick<FundedTransfer, 'failure' | 'failedAt'>,
): boolean {
  return Date.parse(reachedAt ?? '') > Date.parse(failedAt ?? failure?.occurredAt ?? '')
}
