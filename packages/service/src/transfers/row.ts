import type { Amount, PaymentDetails, TransferFailure, TransferStatus, WireInstructions } from '@outlay/core'
import { Column, type RowDecoder, rowDecoder } from '@outlay/core/adapter'
import type { LedgerPlan } from '../ledger/ledger.ts'
import type { AgreedQuote } from '../quotes/use.ts'
import type { RailFlow } from '../rails/port.ts'

/** A row of the table `transfer`. */
export interface TransferRow {
  readonly id: string
  readonly account_id: string
  readonly status: TransferStatus
  readonly failure: TransferFailure | null
  readonly flow: RailFlow
  readonly amount_value: string
  readonly amount_currency: string
  readonly source_address_id: string | null
  /** The virtual account that received the money, for a transfer that an automation created. */
  readonly source_financial_institution_id: string | null
  readonly source_value_type: string
  readonly source_transfer_type: string
  readonly source_transaction_id: string | null
  readonly source_payment_details: PaymentDetails | null
  readonly destination_address_id: string
  readonly destination_value_type: string
  readonly destination_transfer_type: string
  readonly destination_transaction_id: string | null
  readonly destination_payment_details: PaymentDetails | null
  readonly wire_memo: string | null
  readonly wire_instructions: WireInstructions | null
  readonly brand_account_id: string | null
  readonly automation_id: string | null
  readonly note: string | null
  /** Ledger lines of the end. */
  readonly plan: Pick<LedgerPlan, 'post' | 'void'>
  /** Legs whose transaction id is the rail's reference. */
  readonly reference_legs: 'source' | 'destination' | 'both' | 'none'
  /** The rail's reference, once the engine knows it. */
  readonly reference: string | null
  /** When it ends by itself if it is still pending; null for never. */
  readonly expires_at: Date | null
  /** Null where value moves one to one. */
  readonly quote: AgreedQuote | null
  readonly created_at: Date
  readonly updated_at: Date
  /** What came back after it was complete, oldest first; null for nothing, and where the statement does not read it. */
  readonly returns: readonly TransferReturn[] | null
}

/** Money of a complete transfer that came back. */
export interface TransferReturn {
  /** The rail's code, such as `R10`. */
  readonly code: string
  readonly amount: Amount
  /** What the source got for it; null without a quote, where that is the same. */
  readonly sourceAmount: Amount | null
  /** ISO 8601. */
  readonly occurredAt: string
}

/** Reads a row of the table `transfer`. */
export const readTransfer: RowDecoder<TransferRow> = rowDecoder('transfer', {
  id: Column.text,
  account_id: Column.text,
  status: Column.word<TransferStatus>(),
  failure: Column.nullable(Column.json<TransferFailure>()),
  flow: Column.word<RailFlow>(),
  amount_value: Column.text,
  amount_currency: Column.text,
  source_address_id: Column.nullable(Column.text),
  source_financial_institution_id: Column.nullable(Column.text),
  source_value_type: Column.text,
  source_transfer_type: Column.text,
  source_transaction_id: Column.nullable(Column.text),
  source_payment_details: Column.nullable(Column.json<PaymentDetails>()),
  destination_address_id: Column.text,
  destination_value_type: Column.text,
  destination_transfer_type: Column.text,
  destination_transaction_id: Column.nullable(Column.text),
  destination_payment_details: Column.nullable(Column.json<PaymentDetails>()),
  wire_memo: Column.nullable(Column.text),
  wire_instructions: Column.nullable(Column.json<WireInstructions>()),
  brand_account_id: Column.nullable(Column.text),
  automation_id: Column.nullable(Column.text),
  note: Column.nullable(Column.text),
  plan: Column.json<TransferRow['plan']>(),
  reference_legs: Column.word<TransferRow['reference_legs']>(),
  reference: Column.nullable(Column.text),
  expires_at: Column.nullable(Column.date),
  quote: Column.nullable(Column.json<AgreedQuote>()),
  created_at: Column.date,
  updated_at: Column.date,
  returns: Column.or(Column.json<readonly TransferReturn[]>(), null),
})
