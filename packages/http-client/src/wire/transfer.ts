import {
  type Catalog,
  defaultCatalog,
  type Observation,
  OutlayError,
  type Transfer,
  type TransferEndpoint,
  type TransferRequest,
  type TransferReturn,
  type TransferStatus,
  transferStatuses,
} from '@outlay/core'
import type { Dialect } from '../dialect.ts'
import { decodeAmount } from './amount.ts'
import { readTransferType, readValueType } from './catalog.ts'
import {
  attachRaw,
  isRecord,
  type JsonRecord,
  readMember,
  readNullableText,
  readOptionalText,
  readRecord,
  readText,
  readTimestamp,
  unreadable,
  type WithRaw,
} from './json.ts'
import { decodePaymentDetails, decodeWireInstructions } from './payment.ts'
import { decodeTransferQuote } from './quote.ts'
import { decodeFailure, isCode, unexplainedFailure } from './transfer-failure.ts'

/**
 * Writes the body of a create. The order of the members is fixed, so that a retry sends the same bytes. The memo of a wire is
 * `memo` by the public contract. Specification: "POST /accounts/{account_id}/transfers".
 */
export function encodeTransferRequest(request: TransferRequest, dialect: Dialect = 'specification'): JsonRecord {
  const { amount, source, destination, brand, note, quoteId } = request
  return {
    amount: { value: amount.value, currency: amount.currency },
    source: { address_id: source.addressId, value_type: source.valueType, transfer_type: source.transferType },
    destination: {
      address_id: destination.addressId,
      value_type: destination.valueType,
      transfer_type: destination.transferType,
      [dialect === 'public' ? 'memo' : 'wire_memo']: destination.wireMemo,
    },
    brand: brand === undefined ? undefined : { account_id: brand.accountId },
    note,
    quote_id: quoteId,
  }
}

/**
 * Reads one transfer into its canonical form. Value types and transfer types get the spelling of the catalog; unknown ones stay
 * unchanged. The dialect decides about one thing: whether a failure that says nothing about it is retriable; by the specification
 * it is not. Specification: "Transfer".
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeTransfer(
  value: unknown,
  catalog: Catalog = defaultCatalog,
  dialect: Dialect = 'specification',
): WithRaw<Transfer> {
  if (!isRecord(value)) throw unreadable('', 'a transfer')
  const createdAt = readTimestamp(value, 'created_at') ?? readTimestamp(value, 'created')
  if (createdAt === undefined) throw unreadable('created_at', 'a timestamp')
  const updatedAt = readTimestamp(value, 'updated_at') ?? readTimestamp(value, 'updated') ?? createdAt
  const status = decodeStatus(value)
  const transfer: Transfer = {
    id: readText(value, 'id', 'id'),
    status,
    failure:
      decodeFailure(readMember(value, 'failure'), updatedAt, dialect) ??
      (status === 'failed' ? unexplainedFailure(updatedAt, dialect) : null),
    amount: decodeAmount(value, 'amount', catalog),
    source: decodeEndpoint(value, 'source', catalog),
    destination: decodeEndpoint(value, 'destination', catalog),
    note: readNullableText(value, 'note') ?? null,
    createdAt,
    updatedAt,
    automationId: readOptionalText(value, 'automation_id'),
    wireInstructions: decodeWireInstructions(value, 'wire_instructions'),
    ...decodeReturns(value, catalog),
    ...decodeTransferQuote(value, catalog),
  }
  return attachRaw(transfer, value)
}

const decodeEndpoint = (transfer: JsonRecord, name: string, catalog: Catalog): TransferEndpoint => {
  const endpoint = readRecord(transfer, name, name)
  return {
    addressId: readOptionalText(endpoint, 'address_id'),
    valueType: readValueType(endpoint, 'value_type', `${name}.value_type`, catalog),
    transferType: readTransferType(endpoint, 'transfer_type', `${name}.transfer_type`, catalog),
    financialInstitutionId: readOptionalText(endpoint, 'financial_institution_id'),
    transactionId: readOptionalText(endpoint, 'transaction_id'),
    wireMemo: readOptionalText(endpoint, 'wire_memo') ?? readOptionalText(endpoint, 'memo'),
    paymentDetails: decodePaymentDetails(endpoint),
  }
}

const statusAliases = new Map<string, TransferStatus>([
  ...transferStatuses.map((status) => [status, status] as const),
  ['completed', 'complete'],
  ['cancelled', 'canceled'],
])

/** Reads a status in any case; `completed` and `cancelled` are the canonical `complete` and `canceled`. */
function decodeStatus(transfer: JsonRecord): TransferStatus {
  const status = statusAliases.get(readText(transfer, 'status', 'status').toLowerCase())
  if (status === undefined) throw unreadable('status', 'a status of a transfer')
  return status
}

/**
 * Reads what came back of a transfer. Never throws: one return that cannot be read must not hide its transfer, and must not be lost
 * either. What it lacks is `unknown` or null.
 */
function decodeReturns(transfer: JsonRecord, catalog: Catalog): Pick<Transfer, 'returns'> {
  const value = readMember(transfer, 'returns')
  if (value === undefined || value === null || value === false) return {}
  const returns = Array.isArray(value) ? value : [value]
  return returns.length === 0 ? {} : { returns: returns.map((one) => decodeReturn(one, catalog)) }
}

function decodeReturn(value: unknown, catalog: Catalog): TransferReturn {
  if (typeof value === 'string') return { code: isCode(value) ? value : 'unknown', amount: null, occurredAt: null }
  if (!isRecord(value)) return { code: 'unknown', amount: null, occurredAt: null }
  return {
    code: readOptionalText(value, 'code') ?? readOptionalText(value, 'reason') ?? 'unknown',
    amount: decodeReturnedAmount(value, 'amount', catalog),
    ...decodeSourceAmount(value, catalog),
    occurredAt: readTimestamp(value, 'occurred_at') ?? readTimestamp(value, 'created_at') ?? null,
  }
}

function decodeSourceAmount(value: JsonRecord, catalog: Catalog): Pick<TransferReturn, 'sourceAmount'> {
  const sourceAmount = decodeReturnedAmount(value, 'source_amount', catalog)
  return sourceAmount === null ? {} : { sourceAmount }
}

function decodeReturnedAmount(value: JsonRecord, name: string, catalog: Catalog): TransferReturn['amount'] {
  try {
    return decodeAmount(value, name, catalog)
  } catch (error) {
    if (OutlayError.is(error, 'unreadable_response')) return null
    throw error
  }
}

/** Makes an observation for the engine from a whole transfer, which shows what came back of it where anything did. */
export function observe(transfer: Transfer): Observation {
  const { id: remoteId, status, failure, returns = [] } = transfer
  return { remoteId, status, failure, returns, transfer }
}
