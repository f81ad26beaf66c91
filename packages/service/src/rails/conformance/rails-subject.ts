import type { Amount } from '@outlay/core'
import type { RailInstruction, Rails, VirtualAccountOrder } from '../port.ts'

/**
 * Rails under test, with control of the other side: a bank's sandbox, a test chain, a fake.
 *
 * A hook that is absent skips the cases that need it.
 */
export interface RailsSubject {
  /** Makes the rails of one more process, on the same state as the others. The suite starts and stops them. */
  connect(): Promise<Rails>
  /** A new instruction that the rails accept. Its payment stays in progress until a hook ends it. */
  instruct(): RailInstruction
  /** Makes a payment final. Rejects when the rails have no such payment in progress. */
  settle(transferId: string): Promise<unknown>
  /** Rejects a payment in progress on the other side. */
  readonly reject?: ((transferId: string) => Promise<unknown>) | undefined
  /** Returns a settled payment. */
  readonly returnPayment?: ((transferId: string) => Promise<unknown>) | undefined
  /** Payments that the rails retry automatically after a failure. */
  readonly retriedPayments?: RetriedPayments | undefined
  /** A new instruction that `validate` refuses. */
  readonly instructRefused?: (() => RailInstruction) | undefined
  /** Transfers that wait for an inbound wire. */
  readonly inboundWires?: InboundWires | undefined
  /** Needs {@link Rails.virtualAccounts}. */
  readonly virtualAccounts?: VirtualAccountHooks | undefined
  /** Time limit for a fact, in milliseconds. Default 30,000. */
  readonly patienceMs?: number | undefined
  /** Releases everything, after the last case. */
  readonly close?: (() => Promise<unknown>) | undefined
}

/** Hooks of the case about payments that continue after a failure. */
export interface RetriedPayments {
  /** A new instruction of a payment that may be retried, such as an ACH debit. */
  instruct(): RailInstruction
  /** Makes a payment in progress fail with a retriable failure. */
  fail(transferId: string): Promise<unknown>
  /** Makes the rails retry but not finish, for example by moving time. Absent when they retry at once. */
  readonly letRetry?: (() => Promise<unknown>) | undefined
}

/** Hooks of the cases about inbound wires. */
export interface InboundWires {
  /** A new instruction of a transfer that is funded by wire. */
  instruct(): RailInstruction
  /** Simulates the arrival of the wire that a transfer waits for. */
  arrive(transferId: string): Promise<unknown>
}

/** Hooks of the cases about virtual accounts. */
export interface VirtualAccountHooks {
  /** A new order that the bank accepts. */
  order(): VirtualAccountOrder
  /** Makes the bank open ordered accounts, for example by moving time. Absent when it opens them automatically. */
  readonly letOpen?: (() => Promise<unknown>) | undefined
  /** Sends money to the account of an automation, as a new payment by wire. */
  send(automationId: string, amount: Amount): Promise<unknown>
}
