import type { Amount } from '@outlay/core'
import type { PoolClient } from 'pg'
import type { RailInstruction, Rails, VirtualAccountOrder } from '../port.ts'

/**
 * Rails that are put to the test, with hands on the other side: a bank's sandbox, a test chain, a fake.
 *
 * A hook that is absent skips the cases that need it.
 */
export interface RailsSubject {
  /** Makes the rails as one more process makes them, on the same state as the others. The suite starts and stops them. */
  connect(): Promise<Rails>
  /** A new instruction that the rails take, and that stays in progress until a hook ends it. */
  instruct(): RailInstruction
  /** Makes a payment final. Rejects when the rails have no such payment in progress. */
  settle(transferId: string): Promise<unknown>
  /** Lets the other side refuse a payment that is in progress. */
  readonly reject?: ((transferId: string) => Promise<unknown>) | undefined
  /** Lets a payment come back that is settled. */
  readonly returnPayment?: ((transferId: string) => Promise<unknown>) | undefined
  /** Payments that the rails try again by themselves after a failure. */
  readonly retriedPayments?: RetriedPayments | undefined
  /** A new instruction that `validate` refuses. */
  readonly instructRefused?: (() => RailInstruction) | undefined
  /** Transfers that wait for a wire from outside. */
  readonly inboundWires?: InboundWires | undefined
  /** Needs {@link Rails.virtualAccounts}. */
  readonly virtualAccounts?: VirtualAccountHooks | undefined
  /** How long a fact may take, in milliseconds. Default 10,000. */
  readonly patienceMs?: number | undefined
  /** Releases everything, after the last case. */
  readonly close?: (() => Promise<unknown>) | undefined
}

/** What the case about payments that go on after a failure needs. */
export interface RetriedPayments {
  /** A new instruction of a payment that may be tried again, such as an ACH debit. */
  instruct(): RailInstruction
  /** Lets a payment fail that is in progress, in a way that is retriable. */
  fail(transferId: string): Promise<unknown>
  /** Makes the rails try again and not yet end, for example by letting time pass; absent when they do so at once. */
  readonly letRetry?: (() => Promise<unknown>) | undefined
}

/** What the cases about inbound wires need. */
export interface InboundWires {
  /** A new instruction of a transfer whose money comes by wire. */
  instruct(): RailInstruction
  /** Runs `work` in a transaction of the service's database, and commits it. */
  transaction<T>(work: (tx: PoolClient) => Promise<T>): Promise<T>
  /** Lets the wire arrive that a transfer waits for. */
  arrive(transferId: string): Promise<unknown>
}

/** What the cases about virtual accounts need. */
export interface VirtualAccountHooks {
  /** A new order that the bank takes. */
  order(): VirtualAccountOrder
  /** Makes the bank open what was ordered, for example by letting time pass; absent when it does so by itself. */
  readonly letOpen?: (() => Promise<unknown>) | undefined
  /** Sends money to the account of an automation, as a new payment by wire. */
  send(automationId: string, amount: Amount): Promise<unknown>
}
