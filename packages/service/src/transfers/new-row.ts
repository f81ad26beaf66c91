import type { TransferRequest, WireInstructions } from '@outlay/core'
import type { LedgerPlan } from '../ledger/ledger.ts'
import type { AgreedQuote } from '../quotes/use.ts'
import type { RailFlow } from '../rails/port.ts'
import type { TransferRow } from './row.ts'

/** Which legs carry the rail's reference as their transaction id. An incoming wire has its own. */
function referenceLegs(
  flow: RailFlow,
  isWire: boolean,
  { source, destination }: TransferRequest,
): TransferRow['reference_legs'] {
  // Between two chains, each has a transaction of its own.
  if (flow === 'swap' && source.transferType !== destination.transferType) return 'destination'
  if (flow === 'swap' || flow === 'payout') return 'both'
  if (flow === 'offramp') return 'destination'
  return isWire ? 'none' : 'source'
}

/** The row of a new transfer: pending, without data from the rails. */
export function newRow(transfer: {
  readonly id: string
  readonly accountId: string
  readonly flow: RailFlow
  readonly request: TransferRequest
  readonly plan: LedgerPlan
  readonly wireInstructions: WireInstructions | null
  readonly expiresAt?: Date | undefined
  readonly quote?: AgreedQuote | undefined
  readonly now: Date
}): TransferRow {
  const { id, accountId, flow, request, plan, wireInstructions, expiresAt, quote, now } = transfer
  const { amount, source, destination } = request
  return {
    id,
    account_id: accountId,
    status: 'pending',
    failure: null,
    flow,
    amount_value: amount.value,
    amount_currency: amount.currency,
    source_address_id: source.addressId ?? null,
    source_financial_institution_id: null,
    source_value_type: source.valueType,
    source_transfer_type: source.transferType,
    source_transaction_id: null,
    source_payment_details: null,
    destination_address_id: destination.addressId,
    destination_value_type: destination.valueType,
    destination_transfer_type: destination.transferType,
    destination_transaction_id: null,
    destination_payment_details: null,
    wire_memo: destination.wireMemo ?? null,
    wire_instructions: wireInstructions,
    brand_account_id: request.brand?.accountId ?? null,
    automation_id: null,
    note: request.note ?? null,
    plan: { post: plan.post, void: plan.void },
    reference_legs: referenceLegs(flow, wireInstructions !== null, request),
    reference: null,
    expires_at: expiresAt ?? null,
    quote: quote ?? null,
    created_at: now,
    updated_at: now,
    returns: null,
  }
}
