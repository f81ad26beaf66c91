import { Address } from './address.ts'
import { BankAccount, type BankAccountType, bankAccountTypes } from './bank-account.ts'
import type { Catalog } from './catalog.ts'
import {
  closeInput,
  gather,
  has,
  type Input,
  type Member,
  member,
  openInput,
  type ParseOptions,
  pathOf,
  read,
  readText,
  refuse,
} from './input.ts'
import { readPostalAddress } from './postal-address.ts'
import type { TransferTypeName } from './transfer-type.ts'

/** An on-chain wallet of a counterparty. */
export interface WalletAddressRequest {
  readonly kind: 'wallet'
  readonly name: string
  /** Canonical spelling of the chain. */
  readonly address: string
  /** Canonical names; several only for EVM chains of one environment. */
  readonly transferTypes: readonly TransferTypeName[]
}

/** A Canton party of a counterparty. */
export interface CantonPartyRequest {
  readonly kind: 'canton_party'
  readonly name: string
  readonly address: string
  readonly transferTypes: readonly TransferTypeName[]
}

/** A bank account of a counterparty. */
export interface BankAccountRequest extends BankAccount {
  readonly kind: 'bank_account'
  readonly name: string
  readonly transferTypes: readonly TransferTypeName[]
}

/** An external address to register. Specification: "POST /accounts/{account_id}/addresses/external". */
export type ExternalAddressRequest = WalletAddressRequest | CantonPartyRequest | BankAccountRequest

/** An external address as a caller writes it: its members determine its kind. */
export type ExternalAddressDetails =
  | Omit<WalletAddressRequest, 'kind'>
  | Omit<CantonPartyRequest, 'kind'>
  | Omit<BankAccountRequest, 'kind'>

/** Whose an external address is, as the client says. */
export const addressOwnerships = ['self-owned', 'customer-owned'] as const

/** A bank account to register with a service: it needs the postal addresses for wires only. */
export type BankAccountRegistration = Omit<BankAccountRequest, 'bankAddress' | 'beneficiaryAddress'> &
  Partial<Pick<BankAccountRequest, 'bankAddress' | 'beneficiaryAddress'>>

/** An external address as a service registers it. */
export type AddressRegistration = (WalletAddressRequest | CantonPartyRequest | BankAccountRegistration) & {
  readonly ownership?: (typeof addressOwnerships)[number] | undefined
}

const members = {
  name: member('name'),
  address: member('address'),
  transferTypes: member('transferTypes'),
  owner: member('owner'),
  accountNumber: member('accountNumber'),
  routingNumber: member('routingNumber'),
  accountType: member('accountType'),
  bankAddress: member('bankAddress'),
  beneficiaryAddress: member('beneficiaryAddress'),
  ownership: member('ownership'),
} as const

const bankMembers: readonly Member[] = [
  members.owner,
  members.accountNumber,
  members.routingNumber,
  members.accountType,
  members.bankAddress,
  members.beneficiaryAddress,
]

const responseOnly = ['id', 'type', 'status', 'created'].map(member)

const readTransferTypes = (input: Input, catalog: Catalog): readonly string[] | undefined => {
  const value = read(input.record, members.transferTypes)
  if (value === undefined) return refuse(input, members.transferTypes, 'missing_field', 'is required')
  if (!Array.isArray(value) || !value.every((name) => typeof name === 'string')) {
    return refuse(input, members.transferTypes, 'invalid_request', 'must be an array of strings')
  }
  return gather(input, () => Address.checkTransferTypes(value, catalog, pathOf(input, members.transferTypes)))
}

const isBankShaped = (input: Input): boolean =>
  !has(input.record, members.address) && bankMembers.some((at) => has(input.record, at))

const readChainAddress = (
  input: Input,
  catalog: Catalog,
  transferTypes: readonly string[] | undefined,
): WalletAddressRequest | CantonPartyRequest | undefined => {
  const name = readText(input, members.name)
  const address = readText(input, members.address, { max: 300 })
  const family = catalog.transferType(transferTypes?.[0] ?? '')?.family
  if (family === 'bank') {
    return refuse(input, members.transferTypes, 'transfer_type_not_supported', 'a wallet cannot list bank rails')
  }
  if (family === undefined || address === undefined) return undefined
  const canonical = gather(input, () => Address.parse(family, address, pathOf(input, members.address), catalog))
  if (name === undefined || canonical === undefined || transferTypes === undefined) return undefined
  return { kind: family === 'canton' ? 'canton_party' : 'wallet', name, address: canonical, transferTypes }
}

const readNumbers = (input: Input, clabe: boolean): { accountNumber?: string; routingNumber?: string } => {
  const account = readText(input, members.accountNumber)
  const routing = readText(input, members.routingNumber, { optional: clabe })
  if (account !== undefined && clabe && !BankAccount.isClabe(account)) {
    refuse(input, members.accountNumber, 'invalid_clabe', 'must be a CLABE of 18 digits with a right check digit')
  }
  if (account !== undefined && !clabe && !BankAccount.isAccountNumber(account)) {
    refuse(input, members.accountNumber, 'invalid_account_number', 'must be 4 to 17 digits')
  }
  if (routing !== undefined && !BankAccount.isRoutingNumber(routing)) {
    refuse(input, members.routingNumber, 'invalid_routing_number', 'must be nine digits with a right checksum')
  }
  return {
    ...(account === undefined ? {} : { accountNumber: account }),
    ...(routing === undefined ? {} : { routingNumber: routing }),
  }
}

const readAccountType = (input: Input): BankAccountType | undefined => {
  const text = readText(input, members.accountType)
  const type = bankAccountTypes.find((known) => known === text)
  if (text !== undefined && type === undefined) {
    refuse(input, members.accountType, 'invalid_request', `must be ${bankAccountTypes.join(' or ')}`)
  }
  return type
}

const readBankAccount = (
  input: Input,
  catalog: Catalog,
  transferTypes: readonly string[] | undefined,
  isRegistration: boolean,
): BankAccountRegistration | undefined => {
  const first = catalog.transferType(transferTypes?.[0] ?? '')
  if (first !== undefined && first.family !== 'bank') {
    refuse(input, members.transferTypes, 'transfer_type_not_supported', 'a bank account lists bank rails only')
  }
  const owner = readText(input, members.owner)
  const name = readText(input, members.name, { optional: isRegistration }) ?? owner
  const numbers = readNumbers(input, first?.valueTypes?.includes('MXN') ?? false)
  const accountType = readAccountType(input)
  const isWire = transferTypes?.some((one) => catalog.transferType(one)?.wire === true) ?? true
  const bankAddress = readPostalAddress(input, members.bankAddress, isRegistration && !isWire)
  const beneficiaryAddress = readPostalAddress(input, members.beneficiaryAddress, isRegistration && !isWire)
  const { accountNumber } = numbers
  if (owner === undefined || name === undefined || accountNumber === undefined || accountType === undefined)
    return undefined
  if (transferTypes === undefined) return undefined
  const addresses = {
    ...(bankAddress === undefined ? {} : { bankAddress }),
    ...(beneficiaryAddress === undefined ? {} : { beneficiaryAddress }),
  }
  return { kind: 'bank_account', owner, name, ...numbers, accountNumber, accountType, ...addresses, transferTypes }
}

const readOwnership = (input: Input): AddressRegistration['ownership'] => {
  const text = readText(input, members.ownership, { optional: true })
  const ownership = addressOwnerships.find((known) => known === text)
  if (text === undefined || ownership !== undefined) return ownership
  return refuse(input, members.ownership, 'invalid_request', `must be ${addressOwnerships.join(' or ')}`)
}

const parse = (
  body: unknown,
  catalog: Catalog,
  options: ParseOptions,
  isRegistration: boolean,
): AddressRegistration => {
  const input = openInput(body, options)
  for (const at of isRegistration ? responseOnly : [...responseOnly, members.ownership]) {
    if (has(input.record, at)) refuse(input, at, 'response_only_field', 'is set by the service')
  }
  const transferTypes = readTransferTypes(input, catalog)
  const request = isBankShaped(input)
    ? readBankAccount(input, catalog, transferTypes, isRegistration)
    : readChainAddress(input, catalog, transferTypes)
  const ownership = isRegistration ? readOwnership(input) : undefined
  closeInput(input)
  if (request === undefined) throw new Error('parseExternalAddress: nothing was refused and nothing was read')
  return ownership === undefined ? request : { ...request, ownership }
}

/**
 * Reads the body that registers an external address: a wallet, a Canton party or a bank account, distinguished by their
 * members. Members may be spelled `transferTypes` or `transfer_types`; fields are reported as they were spelled.
 *
 * Throws one OutlayError whose `issues` name every broken rule: `missing_field`, `invalid_request`, `response_only_field`,
 * `unknown_transfer_type`, `mixed_chains`, `mixed_environments`, `transfer_type_not_supported`, `invalid_address`,
 * `address_checksum_mismatch`, `invalid_account_number`, `invalid_routing_number`, `invalid_clabe`.
 */
export const parseExternalAddress = (
  body: unknown,
  catalog: Catalog,
  options: ParseOptions = {},
): ExternalAddressRequest => {
  const request = parse(body, catalog, options, false)
  if (request.kind !== 'bank_account') return request
  const { bankAddress, beneficiaryAddress } = request
  if (bankAddress === undefined || beneficiaryAddress === undefined)
    throw new Error('parseExternalAddress: nothing was refused and an address was not read')
  return { ...request, bankAddress, beneficiaryAddress }
}

/**
 * Reads such a body as a service does: a bank account needs its postal addresses for wires only, is named after its owner where it has no
 * name, and `ownership` says whose the address is.
 *
 * Throws what {@link parseExternalAddress} throws.
 */
export const parseAddressRegistration = (
  body: unknown,
  catalog: Catalog,
  options: ParseOptions = {},
): AddressRegistration => parse(body, catalog, options, true)
