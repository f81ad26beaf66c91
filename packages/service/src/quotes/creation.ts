import { type Catalog, Id, OutlayError, parseQuoteRequest, type ValueType } from '@outlay/core'
import type { ServiceContext } from '../context.ts'
import type { PlannedWrite } from '../idempotency/decision.ts'
import type { CreateInput } from '../idempotency/idempotent.ts'
import type { Quotes } from './port.ts'
import { askForQuote } from './provider-call.ts'
import { insertQuote, type QuoteRow, quoteView } from './quotes.ts'

/**
 * Asks the desk for a quote without a transaction, and resolves with its write.
 * @throws OutlayError what `parseQuoteRequest` and `askForQuote` throw.
 */
export async function createQuote(
  context: ServiceContext,
  quotes: Quotes,
  { body, caller, accountId }: CreateInput,
): Promise<PlannedWrite> {
  const { amount, ...ends } = parseQuoteRequest(body, context.catalog)
  const source = typeOf(context.catalog, ends.source.valueType)
  const destination = typeOf(context.catalog, ends.destination.valueType)
  const fixedSide = amount.currency === source.name ? 'source' : 'destination'
  const id = Id.generate(context.clock, context.random)
  const order = { quoteId: id, accountId, amount, fixedSide, source, destination } as const
  const answer = await askForQuote(context, quotes, order, caller.clientId)
  const now = quotes.now()
  const row: QuoteRow = {
    id,
    account_id: accountId,
    source_value_type: source.name,
    source_value: answer.sourceAmount.value,
    destination_value_type: destination.name,
    destination_value: answer.destinationAmount.value,
    rate: answer.rate,
    fixed_side: fixedSide,
    reference: answer.reference,
    transfer_id: null,
    created_at: now,
    expires_at: answer.expiresAt,
  }
  return { resource: quoteView(row, now), works: [(tx) => insertQuote(tx, context, row)] }
}

function typeOf(catalog: Catalog, name: string): ValueType {
  const type = catalog.valueType(name)
  if (type === undefined) throw new OutlayError('unknown_value_type', 'The value type does not exist.')
  return type
}
