import { Amount, amountProblem } from '../amount.ts'
import type { PaidReport } from '../ports/claim.ts'
import type { Observation } from '../ports/gateway.ts'
import { momentOf } from './moment.ts'

const isReadable = ({ value }: Amount): boolean => amountProblem(value) === undefined

/** What a complete observation says of the amount. */
export type PaidReading =
  | { readonly paid: PaidReport; readonly isOther: boolean }
  /** Nobody here can say what it is worth beside the amount that is known. */
  | { readonly paid: null; readonly why: 'other_currency' | 'unreadable' }

/** When the service said it: the later of its two times, since what is complete was complete when it was changed last. */
function timeOf({ reachedAt, transfer }: Pick<Observation, 'reachedAt' | 'transfer'>): string | null {
  const [reached, changed] = [momentOf(reachedAt), momentOf(transfer?.updatedAt)]
  return reached !== null && changed !== null && reached > changed ? reached : changed
}

/**
 * What an observation says that was paid, beside `known`: the same amount, or another one in the same currency. Undefined where it says nothing of it:
 * it is not complete, or has no whole transfer.
 */
export function readPaid(
  known: Amount,
  observation: Pick<Observation, 'status' | 'reachedAt' | 'transfer'>,
): PaidReading | undefined {
  const { status, transfer } = observation
  if (status !== 'complete' || transfer === undefined) return undefined
  const { amount } = transfer
  if (amount.currency !== known.currency) return { paid: null, why: 'other_currency' }
  if (!isReadable(amount)) return { paid: null, why: 'unreadable' }
  const paid = { amount, changedAt: timeOf(observation) }
  return { paid, isOther: !isReadable(known) || !Amount.equals(amount, known) }
}
