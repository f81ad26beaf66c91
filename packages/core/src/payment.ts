/** How to trace a fiat payment. Specification: source.payment_details and destination.payment_details. */
export interface PaymentDetails {
  /** ISO 8601, UTC. */
  readonly receivedAt?: string | null | undefined
  readonly senderName?: string | null | undefined
  readonly senderBankName?: string | null | undefined
  readonly senderBankRoutingNumber?: string | null | undefined
  readonly paymentReference?: string | null | undefined
  /** Wire tracking identifier. */
  readonly imad?: string | null | undefined
  /** ACH trace identifier. */
  readonly traceNumber?: string | null | undefined
}

/** Where to send an inbound wire. Specification: "Wire instructions". */
export interface WireInstructions {
  readonly beneficiaryName: string
  readonly bankName: string
  readonly bankAddress: string
  readonly accountNumber: string
  /** Nine digits; a number on the wire is padded on the left. */
  readonly routingNumber: string
  readonly beneficiaryAddress: string
  readonly memo: string | null
}
