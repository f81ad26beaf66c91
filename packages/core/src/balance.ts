import type { Amount } from './amount.ts'
import type { TransferTypeName } from './transfer-type.ts'
import type { ValueTypeName } from './value-type.ts'

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
  readonly valueType: ValueTypeName
  readonly transferType: TransferTypeName
}
