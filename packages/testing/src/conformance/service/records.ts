/** A decimal amount. Specification: "Amount". */
export interface AmountRecord {
  readonly value: string
  readonly currency: string
}

/** One leg of a transfer as it is answered. Specification: "Transfer", TransferEndpoint. */
export interface LegRecord {
  readonly address_id?: string
  readonly value_type: string
  readonly transfer_type: string
  readonly financial_institution_id?: string
  readonly transaction_id?: string
  readonly wire_memo?: string
  readonly payment_details?: Readonly<Record<string, unknown>>
}

/** A transfer as it is answered. Specification: "Transfer". */
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

/** An address as it is answered, as far as the specification goes, and a little further. */
export interface AddressRecord {
  readonly id: string
  readonly type: 'internal' | 'external'
  readonly address?: string
  readonly transfer_types?: readonly string[]
}

/** A holding as this project settled it. */
export interface BalanceRecord {
  readonly address: { readonly id: string; readonly address: string }
  readonly balance: AmountRecord
  readonly available: AmountRecord
  readonly value_type: string
  readonly transfer_type: string
}

/** A refusal as this project settled it. */
export interface ProblemRecord {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly request_id: string
  readonly errors: readonly { readonly code: string; readonly source?: Readonly<Record<string, string>> }[]
}

/** An automation as it is answered, nested or flat. Specification: "Automation". */
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

/** A financial institution as it is answered. Specification: "Financial institution". */
export interface InstitutionRecord {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly transfer_type?: readonly string[]
  readonly bank_details: Readonly<Record<string, unknown>>
}
