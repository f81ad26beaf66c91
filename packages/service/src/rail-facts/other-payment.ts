import { Amount } from '@outlay/core'
import type { RailFact } from '../rails/port.ts'
import {
  type EarlierProgress,
  hasKnownMark,
  hasNewMark,
  isMarked,
  isMarkedAlike,
  isNewMark,
  isProgress,
  mayBeSameArrival,
} from './arrival.ts'

// A payment at the bank has marks and an amount, and a transfer has one of them. What names another one is never booked as it.

/** What is known of the payments that were reported for a transfer. */
interface PaymentsOfTransfer {
  readonly awaitsWire: boolean
  readonly progress: readonly EarlierProgress[]
}

/**
 * True for money that arrives or leaves a second time. Until a payment has ended, it may get another transaction: a chain replaces one,
 * and a debit is presented again. An inbound wire may not, and a payment settles once.
 */
export function isAnotherPayment(fact: RailFact, transfer: PaymentsOfTransfer, isComplete: boolean): boolean {
  if (!isProgress(fact)) return false
  const applied = appliedOf(transfer)
  if (transfer.awaitsWire && isAnotherWire(fact, transfer, isComplete)) return true
  const compared = fact.kind === 'settled' ? applied.filter(({ kind }) => kind === 'settled') : applied
  return isComplete && hasNewMark(fact, compared)
}

/**
 * A wire arrives once. A report that shares no mark with it is about another one, since its marks may be of another kind; of a settlement before the
 * end that is so only where the mark is that of a wire that was not applied.
 */
function isAnotherWire(fact: RailFact, transfer: PaymentsOfTransfer, isComplete: boolean): boolean {
  const applied = appliedOf(transfer)
  if (applied.length === 0) return false
  if (isNewMark(fact, applied, 'source') || isNewMark(fact, applied, 'imad')) return true
  if (applied.some((one) => isMarkedAlike(fact, one))) return false
  const isArrival = fact.kind === 'accepted'
  if (!isMarked(fact)) return isArrival && !applied.some(({ amount }) => Amount.equals(fact.amount, amount))
  return isArrival || isComplete || othersOf(transfer).some((one) => isMarkedAlike(fact, one))
}

/**
 * Whose money came back. `another`: a mark says that it is that of a payment that was not applied. `doubtful`: there is such a payment, and no mark
 * says that it is not that one. `own`: that of the transfer, as far as is known.
 */
export function ownerOfReturn(fact: RailFact, transfer: PaymentsOfTransfer): 'own' | 'another' | 'doubtful' {
  const [applied, others] = [appliedOf(transfer), othersOf(transfer)]
  if (applied.length === 0 || others.length === 0) return 'own'
  if (hasKnownMark(fact, others, applied)) return 'another'
  return hasKnownMark(fact, applied, others) ? 'own' : 'doubtful'
}

function appliedOf({ progress }: PaymentsOfTransfer): readonly RailFact[] {
  return progress.flatMap((one) => (one.isApplied ? [one.fact] : []))
}

/** Reports of payments that are not the one of the transfer. */
function othersOf(transfer: PaymentsOfTransfer): readonly RailFact[] {
  const applied = appliedOf(transfer)
  const isOther = ({ fact, isApplied, isOther: isKnown = false }: EarlierProgress) => {
    if (isApplied || applied.some((one) => isMarkedAlike(fact, one))) return false
    const isSame = (one: RailFact) => mayBeSameArrival(fact, one) && Amount.equals(fact.amount, one.amount)
    // Marks of different kinds distinguish only two of one kind.
    const alike = applied.filter(({ kind }) => kind === fact.kind)
    return isKnown || (transfer.awaitsWire && !(alike.length > 0 ? alike : applied).some(isSame))
  }
  return transfer.progress.filter(isOther).map(({ fact }) => fact)
}
