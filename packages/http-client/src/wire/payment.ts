import { BankAccount, type PaymentDetails, type WireInstructions } from '@outlay/core'
import { isRecord, type JsonRecord, readMember, readNullableText, readOptionalText, readTimestamp } from './json.ts'

/** Reads payment details. Null stays null, and a missing member stays missing. Specification: source.payment_details. */
export function decodePaymentDetails(record: JsonRecord): PaymentDetails | undefined {
  const details = readMember(record, 'payment_details')
  if (!isRecord(details)) return undefined
  const received = readMember(details, 'received_at')
  return {
    receivedAt: received === null ? null : readTimestamp(details, 'received_at'),
    senderName: readNullableText(details, 'sender_name'),
    senderBankName: readNullableText(details, 'sender_bank_name'),
    senderBankRoutingNumber: readRoutingNumber(details, 'sender_bank_routing_number'),
    paymentReference: readNullableText(details, 'payment_reference'),
    imad: readNullableText(details, 'imad'),
    traceNumber: readNullableText(details, 'trace_number'),
  }
}

/** Reads wire instructions under a name; a member that the service omitted is empty. Specification: "Wire instructions". */
export function decodeWireInstructions(record: JsonRecord, name: string): WireInstructions | undefined {
  const instructions = readMember(record, name)
  if (!isRecord(instructions)) return undefined
  const text = (member: string) => readOptionalText(instructions, member) ?? ''
  return {
    beneficiaryName: text('beneficiary_name'),
    bankName: text('bank_name'),
    bankAddress: text('bank_address'),
    accountNumber: text('account_number'),
    routingNumber: readRoutingNumber(instructions, 'routing_number') ?? '',
    beneficiaryAddress: text('beneficiary_address'),
    memo: readNullableText(instructions, 'memo') ?? null,
  }
}

/** Reads a routing number. A JSON number has lost its leading zeros; this adds them again. */
export function readRoutingNumber(record: JsonRecord, name: string): string | null | undefined {
  const value = readMember(record, name)
  return value === null ? null : BankAccount.readRoutingNumber(value)
}
