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
  readFlag,
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

/** Members of an address that the public contract has and the specification does not. */
interface PublicAddressMembers {
  /** True for the address that the service prefers among those of its kind. */
  readonly isPrimary: boolean
  /** True when the owner of a linked bank account has to go through the provider's flow again. */
  readonly needsUpdate: boolean
  /** ISO 8601, UTC. */
  readonly lastUpdated: string
}

type AddressMembers = AddressRecord & PublicAddressMembers

/**
 * An address as the service returns it. The specification guarantees only `id` and `type`, so the rest may be missing. A bank
 * account without a type is external. Specification: "Address".
 */
export type ReadAddress = Pick<AddressRecord, 'id' | 'type' | 'transferTypes'> & {
  readonly [Member in keyof AddressMembers]?: AddressMembers[Member] | undefined
}

/**
 * Reads one address.
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeAddress(value: unknown, catalog: Catalog = defaultCatalog): WithRaw<ReadAddress> {
  if (!isRecord(value)) throw unreadable('', 'an address')
  const transferTypes = readTransferTypes(value, catalog)
  const address: ReadAddress = {
    id: readText(value, 'id', 'id'),
    type: readType(value, transferTypes, catalog),
    status: readChoice(value, 'status', addressStatuses),
    name: readOptionalText(value, 'name'),
    address: readOptionalText(value, 'address') ?? (readMember(value, 'address') === '' ? '' : undefined),
    transferTypes,
    created: readTimestamp(value, 'created') ?? readTimestamp(value, 'created_at'),
    ownership: readOptionalText(value, 'ownership'),
    owner: readOptionalText(value, 'owner'),
    accountType: readChoice(value, 'account_type', bankAccountTypes),
    bankAddress: decodePostalAddress(value, 'bank_address'),
    beneficiaryAddress: decodePostalAddress(value, 'beneficiary_address'),
    routingNumber: readRoutingNumber(value, 'routing_number') ?? undefined,
    accountNumber: readOptionalText(value, 'account_number'),
    isPrimary: readFlag(value, 'is_primary'),
    needsUpdate: readFlag(value, 'needs_update'),
    lastUpdated: readTimestamp(value, 'last_updated') ?? readTimestamp(value, 'updated'),
  }
  return attachRaw(address, value)
}

const bankMembers = ['account_number', 'routing_number', 'account_type', 'bank_address']

/** Some services leave out the type of bank accounts, and custodial wallets are never bank accounts. */
const readType = (address: JsonRecord, transferTypes: readonly string[], catalog: Catalog): AddressRecord['type'] => {
  const type = readChoice(address, 'type', addressTypes)
  if (type !== undefined) return type
  const isBank =
    bankMembers.some((name) => (readMember(address, name) ?? null) !== null) ||
    transferTypes.some((name) => catalog.transferType(name)?.family === 'bank')
  if (isBank && (readMember(address, 'type') ?? null) === null) return 'external'
  throw unreadable('type', 'internal or external')
}
