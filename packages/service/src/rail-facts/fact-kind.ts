import type { RailFact } from '../rails/port.ts'

/**
 * Kinds of stored facts: those of payments, a payment that a rail waits for, money that arrived, an opened virtual account, and what is
 * none of these.
 */
export type RailFactKind = RailFact['kind'] | 'expected' | 'deposit' | 'opened' | 'unreadable'

/** Why a fact could not be applied. */
export type RailExceptionReason =
  /** No transfer, or no automation, has this id. */
  | 'unknown_transfer'
  | 'unknown_automation'
  /** The transfer belongs to another account. */
  | 'other_account'
  /** The payment of the transfer has another reference. */
  | 'other_reference'
  /** The automation has another virtual account already. */
  | 'other_virtual_account'
  /** The transfer has ended otherwise. */
  | 'status_contradicted'
  /** It is another payment than the one that the transfer has had: money that arrived or left a second time. */
  | 'other_transaction'
  /** The amount is not the one of the transfer. */
  | 'amount_mismatch'
  /** Another transfer, or a deposit at a virtual account, has this wire, by its IMAD or its transaction. `payload.markOwner` names that transfer, or a deposit that went back. */
  | 'reused_mark'
  /** A deposit, or a return, with this reference has another amount or another destination; or another transfer has this payment. */
  | 'reference_reused'
  /** The amount came back before, and nothing distinguishes this return from that one for certain. */
  | 'possible_repeat'
  /** Reports of its transfer show more than one payment, or a person had to decide about one: nothing further is applied by itself. */
  | 'disputed'
  /** A person was to apply it, and it would book nothing: what it says is booked, or is that of a later report. */
  | 'books_nothing'
  /** The engine never learned the reference of this payment, and waits for a person who says what became of it: the fact says it. */
  | 'payment_blocked'
  /** The fact is not one that the port describes. */
  | 'unreadable'
  /** It could not be applied, alone and more than once, for a reason that the log names. */
  | 'apply_failed'

/** Reasons of facts that name no transfer, or not rightly: they say nothing about it. */
const reasonsOfNoTransfer: readonly RailExceptionReason[] = [
  'unknown_transfer',
  'unknown_automation',
  'other_account',
  'other_reference',
  'other_virtual_account',
]

/** True for the exceptions of facts that name their transfer rightly. The SQL function of this name says the same. */
export function isOfTransfer(reason: RailExceptionReason): boolean {
  return !reasonsOfNoTransfer.includes(reason)
}

/** What the service does with incoming money of another amount than its transfer asks for. */
export type AmountPolicy = 'hold' | 'credit_received'
