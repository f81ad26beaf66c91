import { Amount, TransferStatus } from '@outlay/core'
import type { RailFact } from '../rails/port.ts'
import { type EarlierProgress, hasKnownMark, isMarkedOtherwise, isProgress, mayBeSameArrival } from './arrival.ts'
import type { RailFactKind } from './fact-kind.ts'

// What distinguishes one report from another is a guess, and each guess has a hole. So none is relied on where money may be that of two payments.

/** What is known of the reports about a transfer. */
interface ReportedTransfer {
  readonly status: TransferStatus
  readonly failure: Parameters<typeof TransferStatus.isFinal>[1]
  readonly awaitsWire: boolean
  readonly appliedKinds: readonly RailFactKind[]
  readonly progress: readonly EarlierProgress[]
  /** True once a person had, or has, to decide about a report, but for the amount of its only payment. */
  readonly wasHeld?: boolean | undefined
}

/**
 * True where a fact that fits is not applied by itself, since reports of its transfer show more than one payment, or a person had to decide about one.
 * What goes on waits unless a mark says that it is the payment that was applied, or no other one was reported; what ends or comes back waits in each such case.
 * Of a transfer that has failed nothing moves any more.
 */
export function waitsForPerson(fact: RailFact, transfer: ReportedTransfer): boolean {
  const { status, failure, awaitsWire, appliedKinds, progress } = transfer
  if (status !== 'complete' && TransferStatus.isFinal(status, failure)) return false
  const applied = progress.flatMap((one) => (one.isApplied && one.isEnded !== true ? [one.fact] : []))
  const others = progress.flatMap((one) => (one.isApplied || hasKnownMark(one.fact, applied) ? [] : [one.fact]))
  if (isProgress(fact))
    return (others.length > 0 && !hasKnownMark(fact, applied, others)) || isOtherSettlement(fact, transfer)
  // A wire that is the only one may go back. Of what leaves, or is drawn, a settlement says that it has moved.
  const mayHaveMoved = (one: EarlierProgress) => applied.length > 0 || (!awaitsWire && one.fact.kind === 'settled')
  if (progress.some((one) => !one.isApplied && mayHaveMoved(one))) return true
  // Nothing was credited or sent yet, and what comes behind a cancellation is held.
  if (fact.kind === 'canceled' && !appliedKinds.some((kind) => kind === 'accepted' || kind === 'settled')) return false
  if (transfer.wasHeld === true) return true
  const ended = progress.flatMap((one) => (one.isEnded === true ? [one.fact] : []))
  return showsSeveral(transfer) || (applied.length > 0 && hasKnownMark(fact, ended, applied))
}

/**
 * True for a settlement of another amount than one that a person has accepted as a part, or, before the end, than one of this payment that was not
 * applied. A wire is credited as it has arrived.
 */
function isOtherSettlement(fact: RailFact, { status, awaitsWire, appliedKinds, progress }: ReportedTransfer): boolean {
  if (fact.kind !== 'settled') return false
  const isUnderWay = status !== 'complete' && !appliedKinds.includes('settled') && !awaitsWire
  return progress.some((one) => {
    if (one.fact.kind !== 'settled' || one.isEnded === true || Amount.equals(one.fact.amount, fact.amount)) return false
    return one.isApplied
      ? one.isPart === true && one.isAgain !== true
      : isUnderWay && !isMarkedOtherwise(fact, one.fact)
  })
}

/** True where the reports of a transfer cannot all be about one payment. What a failure that was retried has ended is no other one. */
function showsSeveral({ awaitsWire, progress }: ReportedTransfer): boolean {
  const current = progress.filter((one) => one.isEnded !== true)
  if (current.some((one) => one.isAgain === true)) return true
  return current.some((one, index) =>
    current.slice(index + 1).some((other) => areSeveral(one.fact, other.fact, awaitsWire)),
  )
}

function areSeveral(one: RailFact, other: RailFact, awaitsWire: boolean): boolean {
  if (isMarkedOtherwise(one, other) || (awaitsWire && !mayBeSameArrival(one, other))) return true
  return one.kind === other.kind && !Amount.equals(one.amount, other.amount)
}
