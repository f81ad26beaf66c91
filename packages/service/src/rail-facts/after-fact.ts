import { Amount } from '@outlay/core'
import type { RailFact } from '../rails/port.ts'
import { isProgress } from './arrival.ts'
import { isOfTransfer } from './fact-kind.ts'
import type { JudgedTransfer, Judgement } from './judgement.ts'

/** What is known of a transfer behind a fact, for the next fact of the same batch. */
export function afterFact<T extends JudgedTransfer>(transfer: T, fact: RailFact, judgement: Judgement): T {
  const { appliedKinds, amount } = transfer
  const isPart = judgement.outcome === 'applied' && judgement.received !== undefined
  const withProgress = (isApplied: boolean, held?: Judgement & { readonly outcome: 'exception' }) => {
    if (!isProgress(fact) || (held !== undefined && !isOfTransfer(held.reason))) return transfer.progress
    const waits = { isUnbooked: held?.receipt === undefined, isOther: held?.reason !== 'amount_mismatch' }
    return [...transfer.progress, { fact, isApplied, isPart, ...(held === undefined ? {} : waits) }]
  }
  if (judgement.outcome === 'exception')
    return { ...held(fact, transfer, judgement), progress: withProgress(false, judgement) }
  if (judgement.outcome === 'returned_late') {
    const { unsent, stated } = judgement
    const returned = Amount.add({ ...amount, value: transfer.returnedValue }, unsent ?? stated ?? fact.amount)
    if (unsent === undefined)
      return { ...transfer, returnedValue: returned.value, returns: [...transfer.returns, fact] }
    const progress = [...transfer.progress, { fact, isApplied: true, isPart: true }]
    const unsentValue = Amount.add({ ...amount, value: transfer.unsentValue ?? '0' }, unsent).value
    return { ...transfer, returnedValue: returned.value, unsentValue, progress }
  }
  if (judgement.outcome === 'moved_again') {
    const rest = Amount.subtract({ ...amount, value: transfer.returnedValue }, fact.amount)
    return {
      ...transfer,
      returnedValue: rest.value,
      progress: [...transfer.progress, { fact, isApplied: true, isAgain: true }],
    }
  }
  if (judgement.outcome !== 'applied') return transfer
  if (fact.failure?.retriable === true) return behindFailure(transfer, fact)
  const kinds = [...appliedKinds, fact.kind]
  const failedAt = fact.failure?.occurredAt ?? transfer.failedAt
  const received = judgement.received ?? amount
  return { ...transfer, failedAt, appliedKinds: kinds, progress: withProgress(true), amount: received }
}

/** Only the amount of a payment may be decided without the transfer being in dispute. */
function held<T extends JudgedTransfer>(
  fact: RailFact,
  transfer: T,
  { reason }: Judgement & { readonly outcome: 'exception' },
): T {
  const isAmount = reason === 'amount_mismatch' && isProgress(fact)
  return isAmount || !isOfTransfer(reason) ? transfer : { ...transfer, wasHeld: true }
}

/** What is tried again may get marks of its own. `rail_fact_last_retried` says the same of stored facts. */
function behindFailure<T extends JudgedTransfer>(transfer: T, fact: RailFact): T {
  const failedAt = Date.parse(fact.failure?.occurredAt ?? '')
  // An earlier failure in other words.
  const isOutdated = transfer.progress.some((one) => one.isApplied && Date.parse(one.fact.reachedAt ?? '') >= failedAt)
  const progress = transfer.progress.map((one) => (one.isApplied && !isOutdated ? { ...one, isEnded: true } : one))
  const { earlierReturns = [] } = transfer
  return {
    ...transfer,
    progress,
    earlierReturns: fact.kind === 'returned' ? [...earlierReturns, fact] : earlierReturns,
  }
}
