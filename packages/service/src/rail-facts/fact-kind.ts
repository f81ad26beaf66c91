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
  /** The amount is not the one of the transfer. */
  | 'amount_mismatch'
  /** A deposit, or a return, with this reference has another amount or another destination. */
  | 'reference_reused'
  /** The amount came back before, and nothing distinguishes this return from that one for certain. */
  | 'possible_repeat'
  /** The fact is not one that the port describes. */
  | 'unreadable'
  /** It could not be applied, alone and more than once, for a reason that the log names. */
  | 'apply_failed'

/** What the service does with incoming money of another amount than its transfer asks for. */
export type AmountPolicy = 'hold' | 'credit_received'
