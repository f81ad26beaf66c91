/** A decimal amount. Specification: "Amount". */
export interface AmountRecord {
  readonly value: string
  readonly currency: string
}

/** One leg of a transfer in an answer. Specification: "Transfer", TransferEndpoint. */
export interface LegRecord {
  readonly address_id?: string
  readonly value_type: string
  readonly transfer_type: string
  readonly financial_institution_id?: string
  readonly transaction_id?: string
  readonly wire_memo?: string
  readonly payment_details?: Readonly<Record<string, unknown>>
}

/** A transfer in an answer. Specification: "Transfer". */
export interface TransferRecord {
  readonly id: string
  readonly status: string
  readonly failure: Readonly<Record<string, unknown>> | null
  readonly amount: AmountRecord
  readonly source: LegRecord
  readonly destination: LegRecord
  readonly note: string | null
  readonly created_at: string
  readonly updated_at: string
  readonly automation_id?: string
  readonly wire_instructions?: Readonly<Record<string, unknown>>
}

/** A page of transfers. */
export interface TransferPage {
  readonly transfers: readonly TransferRecord[]
  readonly pagination: { readonly next: string | null; readonly prev: string | null }
}

/** An address in an answer, with the members of the specification and a few more. */
export interface AddressRecord {
  readonly id: string
  readonly type: 'internal' | 'external'
  readonly address?: string
  readonly transfer_types?: readonly string[]
}

/** A holding as this project decided it. */
export interface BalanceRecord {
  readonly address: { readonly id: string; readonly address: string }
  readonly balance: AmountRecord
  readonly available: AmountRecord
  readonly value_type: string
  readonly transfer_type: string
}

/** A refusal as this project decided it. */
export interface ProblemRecord {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly request_id: string
  readonly errors: readonly { readonly code: string; readonly source?: Readonly<Record<string, string>> }[]
}

/** An automation in an answer, nested or flat. Specification: "Automation". */
export interface AutomationRecord {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly source?: {
    readonly value_type: string
    readonly transfer_type: string | null
    readonly funding_instructions?: Readonly<Record<string, unknown>> | null
  }
  readonly destination?: LegRecord
  readonly wire_instructions?: Readonly<Record<string, unknown>>
  readonly created_at: string
  readonly updated_at: string
}

/** A financial institution in an answer. Specification: "Financial institution". */
export interface InstitutionRecord {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly transfer_type?: readonly string[]
  readonly bank_details: Readonly<Record<string, unknown>>
}
