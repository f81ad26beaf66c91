import { type Catalog, defaultCatalog, type Quote, type QuoteRequest, quoteStatuses, type Transfer } from '@outlay/core'
import { decodeAmount, readDigits } from './amount.ts'
import {
  attachRaw,
  isRecord,
  type JsonRecord,
  readMember,
  readOptionalText,
  readText,
  readTimestamp,
  unreadable,
  type WithRaw,
} from './json.ts'

/** Writes the body that creates a quote. */
export function encodeQuoteRequest({ amount, source, destination }: QuoteRequest): JsonRecord {
  return {
    amount: { value: amount.value, currency: amount.currency },
    source: { value_type: source.valueType },
    destination: { value_type: destination.valueType },
  }
}

/**
 * Reads one quote.
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeQuote(value: unknown, catalog: Catalog = defaultCatalog): WithRaw<Quote> {
  if (!isRecord(value)) throw unreadable('', 'a quote')
  const status = quoteStatuses.find((known) => known === readMember(value, 'status'))
  if (status === undefined) throw unreadable('status', 'a status of a quote')
  const quote: Quote = {
    ...decodeAmounts(value, catalog),
    status,
    fixedSide: readMember(value, 'fixed_side') === 'destination' ? 'destination' : 'source',
    createdAt: timestamp(value, 'created_at'),
    expiresAt: timestamp(value, 'expires_at'),
    transferId: readOptionalText(value, 'transfer_id'),
  }
  return attachRaw(quote, value)
}

/** Reads the quote of a transfer. Without one, or with one that cannot be read, the transfer has none: it must not hide its transfer. */
export function decodeTransferQuote(transfer: JsonRecord, catalog: Catalog): Pick<Transfer, 'quote'> {
  const quote = readMember(transfer, 'quote')
  if (!isRecord(quote)) return {}
  try {
    return { quote: decodeAmounts(quote, catalog) }
  } catch {
    return {}
  }
}

function decodeAmounts(quote: JsonRecord, catalog: Catalog): NonNullable<Transfer['quote']> {
  return {
    id: readText(quote, 'id', 'id'),
    rate: readDigits(quote, 'rate', 'rate'),
    sourceAmount: decodeAmount(quote, 'source_amount', catalog),
    destinationAmount: decodeAmount(quote, 'destination_amount', catalog),
  }
}

function timestamp(quote: JsonRecord, name: string): string {
  const time = readTimestamp(quote, name)
  if (time === undefined) throw unreadable(name, 'a timestamp')
  return time
}
