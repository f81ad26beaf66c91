import { Amount, type TransferFailure, TransferStatus } from '@outlay/core'
import type { RailFact, RailFlow } from '../rails/port.ts'
import {
  type EarlierProgress,
  hasKnownMark,
  isMarkedOtherwise,
  isProgress,
  mayBeSameArrival,
  type StrayArrival,
} from './arrival.ts'
import { waitsForPerson } from './dispute.ts'
import { compareAttempts, compareReturns } from './earlier-return.ts'
import type { AmountPolicy, RailExceptionReason, RailFactKind } from './fact-kind.ts'
import { isCreditable } from './moved-amount.ts'
import { isAnotherPayment, ownerOfReturn } from './other-payment.ts'
import { isBehindFailure, receiptOf } from './receipt.ts'

/** What is known of a transfer when a fact about it is judged. */
export interface JudgedTransfer {
  readonly accountId: string
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  readonly flow: RailFlow
  /** What its rail moves. */
  readonly amount: Amount
  /** The currency in which the transfer was asked for, where that may be another one. */
  readonly askedCurrency?: string | undefined
  /** True for money from outside that becomes tokens here: a debit or an inbound wire, and no deposit. */
  readonly isIncoming: boolean
  /** True for a transfer that is funded by an inbound wire. */
  readonly awaitsWire: boolean
  /** True where a quote says what is given for the amount. */
  readonly hasQuote: boolean
  /** When it failed for good, by a fact that the engine has yet to deliver: ISO 8601. Absent where its row says it, or nobody does. */
  readonly failedAt?: string | undefined
  /** The rail's reference; null while it is not known. */
  readonly reference: string | null
  /** Kinds of its facts that were applied, without failures that may be retried. */
  readonly appliedKinds: readonly RailFactKind[]
  /** Its facts of progress that were applied, and those that a person decides about or has dismissed. */
  readonly progress: readonly EarlierProgress[]
  /** Those that have the reference of another transfer say nothing about this one, but that their wires are booked. Default none. */
  readonly strays?: readonly StrayArrival[] | undefined
  /** What came back of it after it was complete, and has not moved again since: a decimal string in its currency. */
  readonly returnedValue: string
  /** How much of that never left, since a person has accepted a part as its settlement. Default 0. */
  readonly unsentValue?: string | undefined
  /** The facts of that, where one is needed for a judgement. */
  readonly returns: readonly RailFact[]
  /** Facts that said before its completion that its money came back, and that it is tried again. Default none. */
  readonly earlierReturns?: readonly RailFact[] | undefined
  /** True once a person had, or has, to decide about a report of it, but for the amount of its only payment. Default false. */
  readonly wasHeld?: boolean | undefined
}

/**
 * What becomes of a fact. With `received`, the transfer is changed to the amount that arrived, or left. With `takenBack`, a part of a deposit went back
 * after its mint had failed, as a person has accepted.
 */
export type Judgement =
  | { readonly outcome: 'applied'; readonly received?: Amount | undefined; readonly takenBack?: Amount | undefined }
  /** Money of a complete transfer came back: as much as a person has stated, where it is in another currency. With `unsent`, so much of it never left, as a person has accepted. */
  | { readonly outcome: 'returned_late'; readonly unsent?: Amount | undefined; readonly stated?: Amount | undefined }
  /** Money of a complete transfer that came back has moved again, and a person has accepted that. */
  | { readonly outcome: 'moved_again' }
  /** What came back is booked already, by a fact that said the same otherwise. */
  | { readonly outcome: 'repeated' }
  /** Money came back of a transfer whose completion is not booked yet. The rail reports it again. */
  | { readonly outcome: 'too_early' }
  /** With `receipt`, this money has arrived and is credited to nobody yet. */
  | {
      readonly outcome: 'exception'
      readonly reason: RailExceptionReason
      readonly receipt?: Amount | undefined
    }

/** How a fact is judged. */
export interface JudgementRules {
  readonly policy: AmountPolicy
  /** Most digits of the fraction of the currency. */
  readonly scale: number
  /**
   * The reasons to hold this fact that a person has seen and accepts: its amount, that it is another return, or that the payment was made again. What it is
   * held for beside them holds it still. `undefined` where no person decides.
   */
  readonly accepts?: readonly RailExceptionReason[] | undefined
  /** What came back in the currency of the transfer, as a person states it, where the fact says another currency. */
  readonly stated?: Amount | undefined
  /** Who has the wire of this fact already: another transfer, or a deposit that went back. Absent where a person gives it away. */
  readonly markOwner?: string | undefined
}

const accepts = (rules: JudgementRules, reason: RailExceptionReason) => rules.accepts?.includes(reason) === true

/**
 * Decides what becomes of a fact about a transfer. A fact that contradicts what is known is an exception, in this order: the
 * transfer, its account, its reference, whose wire it is, its end, its payment, its amount. One that fits is an exception where the transfer is in dispute. A person
 * who accepts what it is held for must find something to book.
 */
export function judgeFact(fact: RailFact, transfer: JudgedTransfer | undefined, rules: JudgementRules): Judgement {
  const judgement = judgeAlone(fact, transfer, rules)
  if (transfer === undefined) return judgement
  if (rules.accepts !== undefined)
    return booksNothing(fact, transfer, judgement) ? exception('books_nothing') : judgement
  const isEffective = effective.includes(judgement.outcome)
  if (!isEffective || !waitsForPerson(fact, transfer)) return judgement
  return { ...exception('disputed'), receipt: receiptOf(fact, transfer, rules) }
}

const effective: readonly Judgement['outcome'][] = ['applied', 'returned_late', 'moved_again', 'too_early']

/** True where nothing is left to book for a fact. */
function booksNothing(fact: RailFact, transfer: JudgedTransfer, judgement: Judgement): boolean {
  if (judgement.outcome === 'repeated') return true
  // Of one that has yet to be completed, the engine may not know what an applied fact says.
  return judgement.outcome === 'applied' && isProgress(fact) && transfer.status === 'complete'
}

/** The same, whether or not the transfer is in dispute. */
function judgeAlone(fact: RailFact, transfer: JudgedTransfer | undefined, rules: JudgementRules): Judgement {
  if (transfer === undefined) return exception('unknown_transfer')
  if (fact.accountId !== transfer.accountId) return exception('other_account')
  if (transfer.reference !== null && fact.reference !== transfer.reference) return exception('other_reference')
  // Its money is in the ledger already, so it has no receipt.
  if (rules.markOwner !== undefined) return exception('reused_mark')
  const end = endOf(transfer)
  if (end !== undefined && contradicts(fact, transfer, end, rules))
    return { ...exception('status_contradicted'), receipt: receiptOf(fact, transfer, rules) }
  const isAgain = isMadeAgain(fact, transfer, end)
  if (isAgain && accepts(rules, 'other_transaction')) return judgeAgainMade(fact, transfer, rules)
  if (isAgain || isAnotherPayment(fact, transfer, end === 'complete'))
    return { ...exception('other_transaction'), receipt: receiptOf(fact, heldOnly(transfer), rules) }
  if (fact.kind === 'returned') return judgeReturn(fact, transfer, rules)
  if (end === 'complete' && isSettledBefore(fact, transfer)) return { outcome: 'repeated' }
  return judgePart(fact, transfer, rules) ?? judgeAmount(fact, transfer, rules)
}

/** What came back is that of one payment: of another one than the transfer's, it is never booked here. */
function judgeReturn(fact: RailFact, transfer: JudgedTransfer, rules: JudgementRules): Judgement {
  const owner = ownerOfReturn(fact, transfer)
  if (owner === 'another') return exception('other_transaction')
  if (rules.stated !== undefined && statedOf(fact, transfer, rules) === undefined) return exception('amount_mismatch')
  const isDoubtful = owner === 'doubtful' && !accepts(rules, 'other_transaction')
  if (isGoneDeposit(transfer)) return judgeGone(fact, transfer, rules)
  if (endOf(transfer) === 'complete') return judgeLateReturn(fact, transfer, { ...rules, isDoubtful })
  return isDoubtful ? exception('other_transaction') : judgeAmount(fact, transfer, rules)
}

/** True for a deposit at a virtual account, whose money has arrived. */
const isDeposit = ({ flow, isIncoming }: JudgedTransfer): boolean => flow === 'onramp' && !isIncoming

/** True for a deposit at a virtual account whose mint has failed, or was canceled. */
function isGoneDeposit(transfer: JudgedTransfer): boolean {
  const { status, failure } = transfer
  return isDeposit(transfer) && status !== 'complete' && TransferStatus.isFinal(status, failure)
}

/** A deposit goes back as a whole, or in parts that a person accepts, and no more of it than there is. */
function judgeGone(fact: RailFact, transfer: JudgedTransfer, rules: JudgementRules): Judgement {
  const { amount, returnedValue } = transfer
  const before = { ...amount, value: returnedValue }
  if (!isCreditable(fact.amount, amount.currency, rules.scale)) return exception('amount_mismatch')
  if (Amount.equals(fact.amount, amount) && !Amount.isPositive(before)) return { outcome: 'applied' }
  if (Amount.equals(fact.amount, amount) && Amount.equals(before, amount)) return { outcome: 'repeated' }
  const isTooMuch = Amount.compare(Amount.add(before, fact.amount), amount) > 0
  if (isTooMuch || !accepts(rules, 'amount_mismatch')) return exception('amount_mismatch')
  return { outcome: 'applied', takenBack: fact.amount }
}

/**
 * True while no arrival of the wire that a transfer waits for was applied: then nothing says how much has arrived. An earlier release may
 * have begun it without that. `transfer_select_awaited_wires` is the same for submissions.
 */
export function isUnfunded({ awaitsWire, status, failure, appliedKinds }: JudgedTransfer): boolean {
  return (
    awaitsWire &&
    !TransferStatus.isFinal(status, failure) &&
    !appliedKinds.some((kind) => kind === 'accepted' || kind === 'settled')
  )
}

/** How a transfer has ended, by its row or by facts that the engine has yet to deliver; `undefined` for one that has not. */
function endOf({ status, failure, appliedKinds }: JudgedTransfer): 'complete' | 'failed' | 'canceled' | undefined {
  if (status !== 'pending' && status !== 'processing' && TransferStatus.isFinal(status, failure)) return status
  if (appliedKinds.includes('settled')) return 'complete'
  if (appliedKinds.includes('canceled')) return 'canceled'
  return appliedKinds.includes('rejected') || appliedKinds.includes('returned') ? 'failed' : undefined
}

/** A late report of an earlier step contradicts nothing; progress after a final failure does, and money that arrives for one. */
function contradicts(
  fact: RailFact,
  transfer: JudgedTransfer,
  end: 'complete' | 'failed' | 'canceled',
  rules: JudgementRules,
): boolean {
  const { awaitsWire, progress } = transfer
  switch (fact.kind) {
    case 'settled':
      return end !== 'complete'
    case 'rejected':
    case 'canceled':
      return end === 'complete'
    case 'returned':
      return end === 'canceled' && !isDeposit(transfer)
    case 'accepted': {
      if (end === 'canceled') return true
      if (end === 'failed' && (isBehindFailure(fact, transfer) || (awaitsWire && rules.accepts !== undefined)))
        return true
      // What arrived before it failed is no news, and nobody credits it any more.
      return (
        end === 'failed' && awaitsWire && !progress.some((one) => one.isApplied && mayBeSameArrival(fact, one.fact))
      )
    }
  }
}

/**
 * True for progress of a complete transfer of which money came back: a debit that is presented again, a wire that is sent again. A late report of the
 * first payment has a mark of that, and no time behind a return; one of a payment that was made again has its mark, and no later time.
 */
function isMadeAgain(fact: RailFact, transfer: JudgedTransfer, end: ReturnType<typeof endOf>): boolean {
  if (end !== 'complete' || !isProgress(fact) || !Amount.isPositive(cameBack(transfer))) return false
  const { progress, returns } = transfer
  const applied = progress.flatMap((one) => (one.isApplied ? [one.fact] : []))
  const known = progress.filter((one) => one.isAgain === true && hasKnownMark(fact, [one.fact]))
  const isKnown = (booked: RailFact) => known.some((one) => isLater(one.fact, booked) && !isLater(fact, one.fact))
  const isBehind = (booked: RailFact) => isLater(fact, booked) && !isKnown(booked)
  return returns.some(isBehind) || !hasKnownMark(fact, applied)
}

/** What came back and has not moved again. What never left did not come back. */
function cameBack({ amount, returnedValue, unsentValue = '0' }: JudgedTransfer): Amount {
  const [back, unsent] = [
    { ...amount, value: returnedValue },
    { ...amount, value: unsentValue },
  ]
  // An earlier release let a rest that never left move again.
  return Amount.compare(back, unsent) > 0 ? Amount.subtract(back, unsent) : { ...amount, value: '0' }
}

/** Of what came back as much may move again. Only a settlement moves it. */
function judgeAgainMade(fact: RailFact, transfer: JudgedTransfer, rules: JudgementRules): Judgement {
  const { amount, awaitsWire, hasQuote } = transfer
  // A wire is in the settlement account until its settlement is booked.
  if (fact.kind !== 'settled') return awaitsWire ? exception('other_transaction') : { outcome: 'repeated' }
  if (hasQuote) return exception('other_transaction')
  const isUsable = isCreditable(fact.amount, amount.currency, rules.scale)
  if (!isUsable || Amount.compare(fact.amount, cameBack(transfer)) > 0) return exception('amount_mismatch')
  if (mayRepeatAgain(fact, transfer) && !accepts(rules, 'possible_repeat')) return exception('possible_repeat')
  return { outcome: 'moved_again' }
}

/** True where nothing distinguishes a payment that was made again from one that was booked, not even a return between them. */
function mayRepeatAgain(fact: RailFact, { progress, returns }: JudgedTransfer): boolean {
  return progress.some((one) => {
    if (one.isAgain !== true || !isSameSettlement(fact, one)) return false
    return !returns.some((booked) => isLater(fact, booked) && isLater(booked, one.fact))
  })
}

/** True for another report of a settlement that is booked: of a part, or of a payment that was made again. That of the whole may say more of its legs. */
function isSettledBefore(fact: RailFact, { progress, amount }: JudgedTransfer): boolean {
  if (fact.kind !== 'settled') return false
  const same = progress.filter((one) => isSameSettlement(fact, one))
  return same.length > 0 && !(Amount.equals(fact.amount, amount) && same.some((one) => one.isAgain !== true))
}

function isSameSettlement(fact: RailFact, one: EarlierProgress): boolean {
  if (!one.isApplied || one.fact.kind !== 'settled') return false
  return Amount.equals(fact.amount, one.fact.amount) && !isMarkedOtherwise(fact, one.fact)
}

/** A fact without what an earlier step of a complete transfer says of legs that later ones have described: that is newer. */
export function withoutOutdated(fact: RailFact, transfer: JudgedTransfer): RailFact {
  if (fact.kind !== 'accepted' || endOf(transfer) !== 'complete') return fact
  const isDescribed = (end: 'source' | 'destination') =>
    transfer.progress.some((one) => one.isApplied && one.fact[end]?.transactionId !== undefined)
  return {
    ...fact,
    source: isDescribed('source') ? undefined : fact.source,
    destination: isDescribed('destination') ? undefined : fact.destination,
  }
}

/** The transfer with what is held of it: what is another payment than its own is compared with that alone. */
function heldOnly(transfer: JudgedTransfer): JudgedTransfer {
  return { ...transfer, progress: transfer.progress.filter(({ isApplied }) => !isApplied) }
}

/** Parts may come back, one after the other, but no more than the whole, and each once. */
function judgeLateReturn(
  fact: RailFact,
  transfer: JudgedTransfer,
  rules: JudgementRules & { readonly isDoubtful: boolean },
): Judgement {
  const { status, amount, returnedValue } = transfer
  const stated = statedOf(fact, transfer, rules)
  const back = stated ?? fact.amount
  if (!isCreditable(back, amount.currency, rules.scale)) return exception('amount_mismatch')
  // One that came back before the payment was made again is not the one that came back after it.
  const returns = transfer.returns.filter((booked) => !isBehindSettlement(fact, booked, transfer))
  const relations = [
    ...returns.map((booked) => compareReturns(fact, booked)),
    ...(transfer.earlierReturns ?? []).map((earlier) => compareAttempts(fact, earlier)),
  ]
  if (relations.includes('same')) return { outcome: 'repeated' }
  if (rules.isDoubtful) return exception('other_transaction')
  if (relations.includes('reused') && !accepts(rules, 'reference_reused')) return exception('reference_reused')
  const isDoubtful = relations.includes('doubtful') || mayBeUnsent(transfer, rules)
  if (isDoubtful && !accepts(rules, 'possible_repeat')) return exception('possible_repeat')
  const returned = Amount.add({ ...amount, value: returnedValue }, back)
  if (Amount.compare(returned, amount) > 0) return exception('amount_mismatch')
  if (status !== 'complete') return { outcome: 'too_early' }
  return stated === undefined ? { outcome: 'returned_late' } : { outcome: 'returned_late', stated }
}

/** True for a return that was held for its amount, where a person has accepted a part as the settlement: it may be the rest, which is available again. */
function mayBeUnsent({ progress }: JudgedTransfer, rules: JudgementRules): boolean {
  const isPart = (one: EarlierProgress) => one.isApplied && one.isPart === true && one.fact.kind === 'settled'
  return accepts(rules, 'amount_mismatch') && rules.stated === undefined && progress.some(isPart)
}

/** Only a return in another currency has an amount that a person may state: nothing says what it is worth. */
function statedOf(fact: RailFact, { amount }: JudgedTransfer, { stated }: JudgementRules): Amount | undefined {
  return fact.kind === 'returned' && fact.amount.currency !== amount.currency ? stated : undefined
}

/** True where the payment was made again between two returns, which their times say. What names both says that they are one, whatever the times. */
function isBehindSettlement(fact: RailFact, booked: RailFact, { progress }: JudgedTransfer): boolean {
  const again = progress.flatMap((one) => (one.isAgain === true ? [one.fact] : []))
  const isNamed = fact.returnReference !== undefined && fact.returnReference === booked.returnReference
  if (isNamed || hasKnownMark(fact, [booked], again)) return false
  return progress.some(
    (one) =>
      one.isAgain === true && one.fact.kind === 'settled' && isLater(one.fact, booked) && isLater(fact, one.fact),
  )
}

/** True where both say when they happened, and this one later. */
function isLater(one: RailFact, other: RailFact): boolean {
  return timeOf(one) > timeOf(other)
}

function timeOf({ failure, reachedAt }: RailFact): number {
  return Date.parse(failure?.occurredAt ?? reachedAt ?? '')
}

/** Of a complete payment that was settled in part after all, as a person accepts, the rest never left. A wire has arrived as it was credited. */
function judgePart(fact: RailFact, transfer: JudgedTransfer, rules: JudgementRules): Judgement | undefined {
  const { status, amount, returnedValue, flow, isIncoming, awaitsWire, hasQuote, progress } = transfer
  if (!accepts(rules, 'amount_mismatch') || fact.kind !== 'settled' || endOf(transfer) !== 'complete') return undefined
  // Once a part was accepted, or the payment made again, another part says nothing of what never left.
  const isDecided = (one: EarlierProgress) =>
    one.isAgain === true || (one.isPart === true && (one.fact.kind === 'settled' || isMarkedOtherwise(fact, one.fact)))
  if (progress.some((one) => one.isApplied && isDecided(one))) return undefined
  const movesIt = flow !== 'onramp' || (isIncoming && !awaitsWire)
  if (!movesIt || hasQuote || !isCreditable(fact.amount, amount.currency, rules.scale)) return undefined
  if (Amount.compare(fact.amount, amount) >= 0) return undefined
  const unsent = Amount.subtract(amount, fact.amount)
  const returned = Amount.add({ ...amount, value: returnedValue }, unsent)
  if (Amount.compare(returned, amount) > 0) return undefined
  // What came back may be the rest.
  if (Amount.isPositive(cameBack(transfer)) && !accepts(rules, 'possible_repeat')) return exception('possible_repeat')
  return status === 'complete' ? { outcome: 'returned_late', unsent } : { outcome: 'too_early' }
}

/** A person may credit another amount than the one that was asked for, and let a part of it leave; the rest is available again then. */
function judgeAmount(fact: RailFact, transfer: JudgedTransfer, rules: JudgementRules): Judgement {
  const { policy, scale } = rules
  const { amount, flow, isIncoming, awaitsWire, hasQuote } = transfer
  const isNothingPaid = fact.kind === 'rejected' || fact.kind === 'canceled'
  if (isNothingPaid || Amount.equals(statedOf(fact, transfer, rules) ?? fact.amount, amount))
    return { outcome: 'applied' }
  const isUsable = isCreditable(fact.amount, amount.currency, scale)
  const mismatch = { ...exception('amount_mismatch'), receipt: receiptOf(fact, transfer, rules) }
  // Nothing was credited, so all that comes back is the sender's.
  if (isUnfunded(transfer) && fact.kind === 'returned') return { outcome: 'applied' }
  if (!isUsable) return mismatch
  const isCredit = isIncoming && isProgress(fact)
  const isPart = fact.kind === 'settled' && flow !== 'onramp' && Amount.compare(fact.amount, amount) < 0
  if (hasQuote || endOf(transfer) !== undefined || !(isCredit || isPart)) return mismatch
  // A wire that was applied has its amount: another part does not take its place.
  const isOpen = awaitsWire ? isUnfunded(transfer) : !hasPart(fact, transfer)
  const isAccepted =
    (isOpen && accepts(rules, 'amount_mismatch')) || (policy === 'credit_received' && isUnfunded(transfer))
  return isAccepted ? { outcome: 'applied', received: fact.amount } : mismatch
}

/** True where a person has accepted another part: one that arrives beside it does not take its place, and a settlement does unless its marks are others. */
function hasPart(fact: RailFact, { progress }: JudgedTransfer): boolean {
  const isOther = (one: EarlierProgress) => fact.kind === 'accepted' || isMarkedOtherwise(fact, one.fact)
  return progress.some((one) => one.isApplied && one.isPart === true && isOther(one))
}

function exception(reason: RailExceptionReason) {
  return { outcome: 'exception', reason } as const
}
