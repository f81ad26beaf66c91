import type { PaymentDetails, TransferFailure, WireInstructions } from '@outlay/core'
import type { AgreedQuote } from '../quotes/use.ts'
import type { TransferReturn, TransferRow } from './row.ts'

/** One leg of a transfer as the API returns it. Specification: "TransferEndpoint". */
export interface TransferEndpointResource {
  readonly address_id?: string
  /** Instead of an address on the source of a transfer that an automation created: the automation's virtual account. */
  readonly financial_institution_id?: string
  readonly value_type: string
  readonly transfer_type: string
  readonly transaction_id?: string
  readonly wire_memo?: string
  readonly payment_details?: Readonly<Record<string, unknown>>
}

/** Wire instructions as the API returns them. Specification: "Wire instructions". */
export interface WireInstructionsResource {
  readonly beneficiary_name: string
  readonly bank_name: string
  readonly bank_address: string
  readonly account_number: string
  /** Nine digits. */
  readonly routing_number: string
  readonly beneficiary_address: string
  readonly memo: string | null
}

/** A transfer as the API returns it. Specification: "Transfer". */
export interface TransferResource {
  readonly id: string
  readonly status: TransferRow['status']
  readonly failure: Readonly<Record<string, unknown>> | null
  readonly amount: { readonly value: string; readonly currency: string }
  readonly source: TransferEndpointResource
  readonly destination: TransferEndpointResource
  readonly note: string | null
  readonly created_at: string
  readonly updated_at: string
  readonly automation_id?: string
  readonly wire_instructions?: WireInstructionsResource
  /** What came back after it was complete, oldest first. */
  readonly returns?: readonly TransferReturnResource[]
  /** The rate, and the amounts of both sides; absent where value moves one to one. */
  readonly quote?: TransferQuoteResource
}

/** The quote of a transfer as the API returns it. */
export interface TransferQuoteResource {
  readonly id: string
  readonly rate: string
  readonly source_amount: { readonly value: string; readonly currency: string }
  readonly destination_amount: { readonly value: string; readonly currency: string }
}

/** Money of a complete transfer that came back, as the API returns it. */
export interface TransferReturnResource {
  readonly code: string
  readonly amount: { readonly value: string; readonly currency: string }
  /** What the source got for it, at the rate of the quote; absent without one. */
  readonly source_amount?: { readonly value: string; readonly currency: string }
  readonly occurred_at: string
}

/** Writes a transfer as the API returns it. */
export function transferView(row: TransferRow): TransferResource {
  return {
    id: row.id,
    status: row.status,
    failure: row.failure === null ? null : failureView(row.failure),
    amount: { value: row.amount_value, currency: row.amount_currency },
    source: {
      ...given('address_id', row.source_address_id),
      ...given('financial_institution_id', row.source_financial_institution_id),
      value_type: row.source_value_type,
      transfer_type: row.source_transfer_type,
      ...given('transaction_id', row.source_transaction_id),
      ...given('payment_details', row.source_payment_details && detailsView(row.source_payment_details)),
    },
    destination: {
      address_id: row.destination_address_id,
      value_type: row.destination_value_type,
      transfer_type: row.destination_transfer_type,
      ...given('transaction_id', row.destination_transaction_id),
      ...given('wire_memo', row.wire_memo),
      ...given('payment_details', row.destination_payment_details && detailsView(row.destination_payment_details)),
    },
    note: row.note,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    ...given('automation_id', row.automation_id),
    ...given('wire_instructions', row.wire_instructions && instructionsView(row.wire_instructions)),
    ...given('returns', row.returns === null ? null : row.returns.map(returnView)),
    ...given('quote', row.quote && quoteView(row.quote)),
  }
}

function given<Name extends string, Value>(name: Name, value: Value | null): { readonly [K in Name]?: Value } {
  return (value === null ? {} : { [name]: value }) as { readonly [K in Name]?: Value }
}

function returnView({ code, amount, sourceAmount, occurredAt }: TransferReturn): TransferReturnResource {
  const { value, currency } = amount
  return {
    code,
    amount: { value, currency },
    ...given('source_amount', sourceAmount),
    occurred_at: new Date(occurredAt).toISOString(),
  }
}

function quoteView({ id, rate, sourceAmount, destinationAmount }: AgreedQuote): TransferQuoteResource {
  return { id, rate, source_amount: sourceAmount, destination_amount: destinationAmount }
}

function failureView(failure: TransferFailure): Readonly<Record<string, unknown>> {
  const { type, code, detail, occurredAt, retriable, achReturn } = failure
  return {
    // What a person has decided is no type of the contract; the code says it.
    type: type === 'not_paid' ? 'unknown' : type,
    code,
    detail,
    occurred_at: occurredAt,
    retriable,
    ...(achReturn === undefined ? {} : { ach_return: achReturn }),
  }
}

function detailsView(details: PaymentDetails): Readonly<Record<string, unknown>> {
  return {
    ...(details.receivedAt === undefined ? {} : { received_at: details.receivedAt }),
    ...(details.senderName === undefined ? {} : { sender_name: details.senderName }),
    ...(details.senderBankName === undefined ? {} : { sender_bank_name: details.senderBankName }),
    ...(details.senderBankRoutingNumber === undefined
      ? {}
      : { sender_bank_routing_number: details.senderBankRoutingNumber }),
    ...(details.paymentReference === undefined ? {} : { payment_reference: details.paymentReference }),
    ...(details.imad === undefined ? {} : { imad: details.imad }),
    ...(details.traceNumber === undefined ? {} : { trace_number: details.traceNumber }),
  }
}

/** Writes wire instructions as the API returns them. Specification: "Wire instructions". */
export function instructionsView(instructions: WireInstructions): WireInstructionsResource {
  return {
    beneficiary_name: instructions.beneficiaryName,
    bank_name: instructions.bankName,
    bank_address: instructions.bankAddress,
    account_number: instructions.accountNumber,
    routing_number: instructions.routingNumber,
    beneficiary_address: instructions.beneficiaryAddress,
    memo: instructions.memo,
  }
}
