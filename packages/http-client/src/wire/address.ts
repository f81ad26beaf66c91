import {
  type AddressRecord,
  addressStatuses,
  addressTypes,
  bankAccountTypes,
  type Catalog,
  defaultCatalog,
  type ExternalAddressRequest,
} from '@outlay/core'
import { readTransferTypes } from './catalog.ts'
import {
  attachRaw,
  isRecord,
  type JsonRecord,
  readChoice,
  readMember,
  readOptionalText,
  readText,
  readTimestamp,
  unreadable,
  type WithRaw,
} from './json.ts'
import { readRoutingNumber } from './payment.ts'
import { decodePostalAddress, encodePostalAddress } from './postal-address.ts'

/** Writes the body that registers an external address. Specification: "POST /accounts/{account_id}/addresses/external". */
export function encodeExternalAddress(request: ExternalAddressRequest): JsonRecord {
  const { name, transferTypes: transfer_types } = request
  if (request.kind !== 'bank_account') return { name, address: request.address, transfer_types }
  return {
    owner: request.owner,
    name,
    account_number: request.accountNumber,
    routing_number: request.routingNumber,
    account_type: request.accountType,
    bank_address: encodePostalAddress(request.bankAddress),
    beneficiary_address: encodePostalAddress(request.beneficiaryAddress),
    transfer_types,
  }
}

/**
 * An address as the service returns it. The specification guarantees only `id` and `type`, so the rest may be missing.
 * Specification: "Address".
 */
export type ReadAddress = Pick<AddressRecord, 'id' | 'type' | 'transferTypes'> & {
  readonly [Member in keyof AddressRecord]?: AddressRecord[Member] | undefined
}

/**
 * Reads one address.
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeAddress(value: unknown, catalog: Catalog = defaultCatalog): WithRaw<ReadAddress> {
  if (!isRecord(value)) throw unreadable('', 'an address')
  const type = readChoice(value, 'type', addressTypes)
  if (type === undefined) throw unreadable('type', 'internal or external')
  const address: ReadAddress = {
    id: readText(value, 'id', 'id'),
    type,
    status: readChoice(value, 'status', addressStatuses),
    name: readOptionalText(value, 'name'),
    address: readOptionalText(value, 'address') ?? (readMember(value, 'address') === '' ? '' : undefined),
    transferTypes: readTransferTypes(value, catalog),
    created: readTimestamp(value, 'created') ?? readTimestamp(value, 'created_at'),
    ownership: readOptionalText(value, 'ownership'),
    owner: readOptionalText(value, 'owner'),
    accountType: readChoice(value, 'account_type', bankAccountTypes),
    bankAddress: decodePostalAddress(value, 'bank_address'),
    beneficiaryAddress: decodePostalAddress(value, 'beneficiary_address'),
    routingNumber: readRoutingNumber(value, 'routing_number') ?? undefined,
    accountNumber: readOptionalText(value, 'account_number'),
  }
  return attachRaw(address, value)
}
