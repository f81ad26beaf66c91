import { Amount, type TransferFailure, TransferStatus } from '@outlay/core'
import type { RailFact, RailFlow } from '../rails/port.ts'
import { compareReturns } from './earlier-return.ts'
import type { AmountPolicy, RailExceptionReason, RailFactKind } from './fact-kind.ts'

/** What is known of a transfer when a fact about it is judged. */
export interface JudgedTransfer {
  readonly accountId: string
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  readonly flow: RailFlow
  readonly amount: Amount
  /** True for a transfer that is funded by an inbound wire. */
  readonly awaitsWire: boolean
  /** The rail's reference; null while it is not known. */
  readonly reference: string | null
  /** Kinds of its facts that were applied, without failures that may be retried. */
  readonly appliedKinds: readonly RailFactKind[]
  /** Kinds of its facts that wait for a person because of their amount. */
  readonly heldKinds: readonly RailFactKind[]
  /** What came back of it after it was complete: a decimal string in its currency. */
  readonly returnedValue: string
  /** The facts of that, where one is needed for a judgement. */
  readonly returns: readonly RailFact[]
}

/** What becomes of a fact. With `received`, the transfer is changed to the amount that arrived. */
export type Judgement =
  | { readonly outcome: 'applied'; readonly received?: Amount | undefined }
  /** Money of a complete transfer came back. */
  | { readonly outcome: 'returned_late' }
  /** What came back is booked already, by a fact that said the same otherwise. */
  | { readonly outcome: 'repeated' }
  /** Money came back of a transfer whose completion is not booked yet. The rail reports it again. */
  | { readonly outcome: 'too_early' }
  /** With `receipt`, this money has arrived and is credited to nobody yet. */
  | { readonly outcome: 'exception'; readonly reason: RailExceptionReason; readonly receipt?: Amount | undefined }

/** How a fact is judged. */
export interface JudgementRules {
  readonly policy: AmountPolicy
  /** Most digits of the fraction of the currency. */
  readonly scale: number
  /** True when a person has accepted the amount of this fact, or that it is another return. Default false. */
  readonly acceptsAmount?: boolean | undefined
}

/**
 * Decides what becomes of a fact about a transfer. A fact that contradicts what is known is an exception, in this order: the
 * transfer, its account, its reference, its end, its amount.
 */
export function judgeFact(fact: RailFact, transfer: JudgedTransfer | undefined, rules: JudgementRules): Judgement {
  if (transfer === undefined) return exception('unknown_transfer')
  if (fact.accountId !== transfer.accountId) return exception('other_account')
  if (transfer.reference !== null && fact.reference !== transfer.reference) return exception('other_reference')
  const end = endOf(transfer)
  if (end !== undefined && contradicts(fact, transfer, end)) return exception('status_contradicted')
  if (end === 'complete' && fact.kind === 'returned') return judgeLateReturn(fact, transfer, rules)
  return judgeAmount(fact, transfer, rules)
}

/**
 * True while no arrival of the wire that a transfer waits for was applied: then nothing says how much has arrived. An earlier release may
 * have begun it without that. `transfer_select_awaited_wires` is the same for polls.
 */
function isUnfunded({ awaitsWire, status, appliedKinds }: JudgedTransfer): boolean {
  return (
    awaitsWire &&
    (status === 'pending' || status === 'processing') &&
    !appliedKinds.some((kind) => kind === 'accepted' || kind === 'settled')
  )
}

/** What is known of a transfer behind a fact, for the next fact of the same batch. */
export function afterFact<T extends JudgedTransfer>(transfer: T, fact: RailFact, judgement: Judgement): T {
  const { appliedKinds, heldKinds, amount } = transfer
  if (judgement.outcome === 'exception') {
    return judgement.reason === 'amount_mismatch' ? { ...transfer, heldKinds: [...heldKinds, fact.kind] } : transfer
  }
  if (judgement.outcome === 'returned_late') {
    const returned = Amount.add({ ...amount, value: transfer.returnedValue }, fact.amount)
    return { ...transfer, returnedValue: returned.value, returns: [...transfer.returns, fact] }
  }
  if (judgement.outcome !== 'applied' || fact.failure?.retriable === true) return transfer
  return { ...transfer, appliedKinds: [...appliedKinds, fact.kind], amount: judgement.received ?? amount }
}

/** How a transfer has ended, by its row or by facts that the engine has yet to deliver; `undefined` for one that has not. */
function endOf({ status, failure, appliedKinds }: JudgedTransfer): 'complete' | 'failed' | 'canceled' | undefined {
  if (status !== 'pending' && status !== 'processing' && TransferStatus.isFinal(status, failure)) return status
  if (appliedKinds.includes('settled')) return 'complete'
  if (appliedKinds.includes('canceled')) return 'canceled'
  return appliedKinds.includes('rejected') || appliedKinds.includes('returned') ? 'failed' : undefined
}

/** A late report of an earlier step contradicts nothing; progress after a final failure does. */
function contradicts(fact: RailFact, { failure }: JudgedTransfer, end: 'complete' | 'failed' | 'canceled'): boolean {
  switch (fact.kind) {
    case 'settled':
      return end !== 'complete'
    case 'rejected':
    case 'canceled':
      return end === 'complete'
    case 'returned':
      return end === 'canceled'
    case 'accepted': {
      if (end === 'canceled') return true
      const failedAt = Date.parse(failure?.occurredAt ?? '')
      return end === 'failed' && fact.reachedAt !== undefined && Date.parse(fact.reachedAt) > failedAt
    }
  }
}

/** Parts may come back, one after the other, but no more than the whole, and each once. */
function judgeLateReturn(
  fact: RailFact,
  transfer: JudgedTransfer,
  { scale, acceptsAmount }: JudgementRules,
): Judgement {
  const { status, amount, returnedValue, returns } = transfer
  if (!isCreditable(fact.amount, amount.currency, scale)) return exception('amount_mismatch')
  const relations = returns.map((booked) => compareReturns(fact, booked))
  if (relations.includes('same')) return { outcome: 'repeated' }
  if (acceptsAmount !== true && relations.includes('reused')) return exception('reference_reused')
  if (acceptsAmount !== true && relations.includes('doubtful')) return exception('possible_repeat')
  const returned = Amount.add({ ...amount, value: returnedValue }, fact.amount)
  if (Amount.compare(returned, amount) > 0) return exception('amount_mismatch')
  return { outcome: status === 'complete' ? 'returned_late' : 'too_early' }
}

function judgeAmount(fact: RailFact, transfer: JudgedTransfer, rules: JudgementRules): Judgement {
  const { policy, scale, acceptsAmount = false } = rules
  const { amount, heldKinds } = transfer
  const isNothingPaid = fact.kind === 'rejected' || fact.kind === 'canceled'
  if (isNothingPaid || Amount.equals(fact.amount, amount)) return { outcome: 'applied' }
  if (!isUnfunded(transfer)) return acceptsAmount ? { outcome: 'applied' } : exception('amount_mismatch')
  // Nothing was credited, so all that comes back is the sender's.
  if (fact.kind === 'returned') return { outcome: 'applied' }
  if (!isCreditable(fact.amount, amount.currency, scale)) return exception('amount_mismatch')
  if (acceptsAmount || policy === 'credit_received') return { outcome: 'applied', received: fact.amount }
  const isKnown = heldKinds.includes('accepted') || heldKinds.includes('settled')
  return { ...exception('amount_mismatch'), receipt: isKnown ? undefined : fact.amount }
}

/** True for an amount that can be credited in this currency. */
function isCreditable(amount: Amount, currency: string, scale: number): boolean {
  const digits = amount.value.split('.')[1] ?? ''
  return amount.currency === currency && Amount.isPositive(amount) && !/[1-9]/.test(digits.slice(scale))
}

function exception(reason: RailExceptionReason) {
  return { outcome: 'exception', reason } as const
}
