import { type Amount, TransferStatus } from '@outlay/core'
import type { AdmittedPayment } from '../rails/gateway.ts'
import type { RailPayment } from '../rails/port.ts'
import { isUnfunded, type JudgedTransfer, judgeFact } from './judgement.ts'
import { inMovedCurrency } from './moved-amount.ts'

/** What is known of a transfer when its payment is polled. */
export interface PolledTransfer extends JudgedTransfer {
  /** True while a fact about it waits for a person. */
  readonly isDisputed: boolean
  /** True where facts say that there was another payment than the one that was applied, also those that a person has dismissed. */
  readonly hasOthers?: boolean | undefined
  /** True while a stored fact that says that money moved has not been judged, as after a crash between the two. */
  readonly hasUnjudged?: boolean | undefined
  /** True where a fact that was judged says that it is canceled. */
  readonly hasCancellation?: boolean | undefined
}

/**
 * A payment as far as a poll may say it: as the rail says it, or as still under way. A poll ends a transfer only where a fact would that says
 * the same, and a state without an amount never credits or releases money of which a part may have moved.
 */
export function judgePoll(payment: RailPayment, transfer: PolledTransfer | undefined, scale: number): AdmittedPayment {
  const { reference } = payment
  if (transfer === undefined) return { reference, state: 'expected' }
  if (isAdmitted(payment, transfer, scale)) return payment
  return { reference, state: isUnfunded(transfer) ? 'expected' : 'accepted' }
}

function isAdmitted(said: RailPayment, transfer: PolledTransfer, scale: number): boolean {
  const payment = inMovedCurrency(said, transfer)
  const { state, failure, reachedAt, reference } = payment
  const { status, accountId, appliedKinds, isDisputed } = transfer
  // One that has ended here stays so, and only the engine may be behind.
  if (state === 'expected' || TransferStatus.isFinal(status, transfer.failure)) return true
  if (isUnfunded(transfer) && (state === 'accepted' || state === 'settled')) return false
  if (state === 'accepted') return true
  if (isDisputed) return false
  if (transfer.hasUnjudged === true && state !== 'settled') return false
  const isFailure = state === 'rejected' || state === 'returned'
  if (transfer.hasOthers === true && !appliedKinds.includes(state) && mayBeOfAnother(state, transfer)) return false
  if (appliedKinds.includes(state) || (isFailure && failure?.retriable === true)) return true
  const amount = payment.amount ?? amountMeantBy(state, transfer)
  if (amount === undefined) return false
  const fact = { kind: state, reference, transferId: '', accountId, amount, failure, reachedAt } as const
  const judgement = judgeFact(fact, transfer, { policy: 'hold', scale })
  return judgement.outcome === 'applied' && judgement.received === undefined
}

/**
 * The amount of an end that a poll may not say of a transfer of which another payment was reported, so that a person decides about it; `undefined` for what
 * needs nobody. Where a person has decided all else, and its rail reports no fact, nothing else would end the transfer.
 */
export function amountForPerson(payment: RailPayment, transfer: PolledTransfer): Amount | undefined {
  const { state, failure: said } = payment
  const { status, failure, appliedKinds, isDisputed, hasOthers, hasUnjudged, hasCancellation, awaitsWire } = transfer
  if (hasOthers !== true || isDisputed || hasUnjudged === true || TransferStatus.isFinal(status, failure))
    return undefined
  if (state === 'canceled')
    return awaitsWire || hasCancellation === true || appliedKinds.includes('settled') ? undefined : transfer.amount
  if (state === 'expected' || state === 'accepted' || said?.retriable === true) return undefined
  if (appliedKinds.includes(state) || isUnfunded(transfer) || !mayBeOfAnother(state, transfer)) return undefined
  return payment.amount ?? amountMeantBy(state, transfer)
}

/**
 * A state has no marks, so nothing says whose it is where several payments were reported: that of the first wire, say, or of a second one that was never
 * credited. A wire that is the only one may go back.
 */
function mayBeOfAnother(state: RailPayment['state'], transfer: PolledTransfer): boolean {
  if (state === 'settled') return true
  return transfer.awaitsWire ? state === 'returned' && !isUnfunded(transfer) : state !== 'accepted'
}

/** The amount of a state that says none: the whole, or `undefined` where it may be another. */
function amountMeantBy(state: RailPayment['state'], transfer: PolledTransfer) {
  const mayDiffer = state === 'settled' ? transfer.isIncoming : state === 'returned' && !isUnfunded(transfer)
  return mayDiffer ? undefined : transfer.amount
}
