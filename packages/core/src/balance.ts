import type { Amount } from './amount.ts'

/** Holdings of one custodial wallet in one token on one chain. Specification: "GET /balances". */
export interface Balance {
  readonly address: {
    readonly id: string
    /** The on-chain address. */
    readonly address: string
  }
  /** The whole balance, holds included. */
  readonly balance: Amount
  /** What a transfer can spend now; never below zero. */
  readonly available: Amount
  readonly valueType: string
  readonly transferType: string
}
