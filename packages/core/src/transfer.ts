import type { Amount } from './amount.ts'
import type { PaymentDetails, WireInstructions } from './payment.ts'
import type { TransferQuote } from './quote.ts'
import type { TransferFailure } from './transfer-failure.ts'
import type { TransferReturn } from './transfer-return.ts'
import type { TransferStatus } from './transfer-status.ts'
import type { TransferTypeName } from './transfer-type.ts'
import type { ValueTypeName } from './value-type.ts'

export {
  type InlineDestination,
  type OrderDestination,
  parseTransferOrder,
  parseTransferRequest,
  type TransferDestination,
  type TransferOrder,
  type TransferRequest,
  type TransferSource,
} from './transfer-request.ts'
export type { TransferFailure }

/** One leg of a transfer as the service reports it. */
export interface TransferEndpoint {
  readonly addressId?: string | undefined
  readonly valueType: ValueTypeName
  readonly transferType: TransferTypeName
  readonly financialInstitutionId?: string | undefined
  /** On-chain hash or payment reference, once the leg is submitted. */
  readonly transactionId?: string | undefined
  readonly wireMemo?: string | undefined
  readonly paymentDetails?: PaymentDetails | undefined
}

/** A transfer as the service reports it, in its one canonical form. Specification: "Transfer". */
export interface Transfer {
  readonly id: string
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  readonly amount: Amount
  readonly source: TransferEndpoint
  readonly destination: TransferEndpoint
  readonly note: string | null
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** ISO 8601, UTC: the last time the status changed, or money came back. */
  readonly updatedAt: string
  readonly automationId?: string | undefined
  readonly wireInstructions?: WireInstructions | undefined
  /** What came back of it after it was complete; absent where nothing did. The status stays. */
  readonly returns?: readonly TransferReturn[] | undefined
  /** The rate at which it changes value, and the amounts of both sides; absent where value moves one to one. */
  readonly quote?: TransferQuote | undefined
}
