import {
  Address,
  type BankAccountRequest,
  type CantonPartyRequest,
  OutlayError,
  type PostalAddress,
  type TransferTypeName,
  type WalletAddressRequest,
} from '@outlay/core'
import type { Dialect } from '../dialect.ts'
import { decodePage, encodePageQuery, iteratePages, type Page, type PageRequest } from '../pagination.ts'
import { path } from '../request.ts'
import { decodeAddress, type ReadAddress } from '../wire/address.ts'
import { encodeAddressInput } from '../wire/address-input.ts'
import { decodeLinkToken, type ReadLinkToken } from '../wire/bank-link.ts'
import type { WithRaw } from '../wire/json.ts'
import { encodePostalAddress } from '../wire/postal-address.ts'
import {
  type CallOptions,
  type CreateOptions,
  create,
  type IterateOptions,
  post,
  type ResourceContext,
  readLoosely,
} from './resource.ts'

/** An external address to register: a wallet, a Canton party or a bank account. Its members say which one it is. */
export type ExternalAddressInput =
  | Omit<WalletAddressRequest, 'kind'>
  | Omit<CantonPartyRequest, 'kind'>
  | Omit<BankAccountRequest, 'kind'>

/** What the public contract lets a registration have, and the specification does not. */
export interface PublicAddressInput {
  /** Whose address it is. Sent when it is given; the specification does not have it. */
  readonly ownership?: 'self-owned' | 'customer-owned' | undefined
}

/**
 * A bank account that is paid without a wire. By the public contract it needs neither a name nor postal addresses; by the
 * specification it needs them like any other.
 */
export type BankAccountWithoutWire = Omit<BankAccountRequest, 'kind' | 'name' | 'bankAddress' | 'beneficiaryAddress'> &
  Partial<Pick<BankAccountRequest, 'name' | 'bankAddress' | 'beneficiaryAddress'>>

/** A custodial wallet to create. */
export interface InternalAddressInput {
  readonly name: string
  /** Canonical names of chains of one environment. */
  readonly transferTypes: readonly TransferTypeName[]
}

/** Filters of addresses. They match exactly and are combined with AND. */
export interface AddressFilters extends PageRequest {
  readonly type?: 'internal' | 'external' | undefined
  /** The on-chain address. */
  readonly address?: string | undefined
  readonly transferType?: TransferTypeName | undefined
}

/** Changes to an address. */
export interface AddressChange {
  /** Added to the existing ones. */
  readonly transferTypes?: readonly TransferTypeName[] | undefined
  readonly name?: string | undefined
  /** External addresses only. */
  readonly status?: 'active' | 'archived' | undefined
  /** Public contract only, like the next one. */
  readonly bankAddress?: PostalAddress | undefined
  readonly beneficiaryAddress?: PostalAddress | undefined
}

/** The result of a registration. */
export interface CreatedAddress {
  /** Use it as `addressId`. */
  readonly id: string
  /** The key that was sent: the caller's, or the generated one. */
  readonly idempotencyKey: string
  /** The record; `undefined` when the service returned only its id. */
  readonly address: WithRaw<ReadAddress> | undefined
}

/** Custodial wallets and counterparties. Specification: "Addresses". */
export interface AddressesResource {
  /**
   * Registers a counterparty. Takes effect once per idempotency key.
   *
   * @throws OutlayError the codes of `parseExternalAddress`, before anything is sent; then the refusals of the service
   */
  createExternal(
    accountId: string,
    address: (ExternalAddressInput | BankAccountWithoutWire) & PublicAddressInput,
    options?: CreateOptions,
  ): Promise<CreatedAddress>
  /**
   * Creates a custodial wallet besides those that each account has. Takes effect once per idempotency key. Public contract only.
   *
   * @throws OutlayError `missing_field`, `unknown_transfer_type`, `mixed_chains`, `mixed_environments`, before anything is sent; then
   *   the refusals of the service
   */
  createInternal(accountId: string, address: InternalAddressInput, options?: CreateOptions): Promise<CreatedAddress>
  /** Requests the token that opens the provider's flow for a linked bank account that needs it. Public contract only. */
  createUpdateLinkToken(accountId: string, addressId: string, options?: CreateOptions): Promise<WithRaw<ReadLinkToken>>
  /** One address; `undefined` when the account has none with this id. */
  get(accountId: string, addressId: string, options?: CallOptions): Promise<WithRaw<ReadAddress> | undefined>
  /** One page of the addresses of an account: its custodial wallets, and other addresses that the service lists. */
  list(accountId: string, filters?: AddressFilters, options?: CallOptions): Promise<Page<WithRaw<ReadAddress>>>
  /** All addresses of an account. The next page is read when the previous one is consumed. */
  iterate(accountId: string, filters?: AddressFilters, options?: IterateOptions): AsyncIterable<WithRaw<ReadAddress>>
  /** One page of the addresses of every account that this account's credentials may read. */
  listAll(accountId: string, filters?: AddressFilters, options?: CallOptions): Promise<Page<WithRaw<ReadAddress>>>
  /**
   * Changes an address, by the public contract below its account. Returns the new record, or `undefined` when the service does not
   * return it.
   *
   * @throws OutlayError `invalid_request` for a postal address by the specification, before anything is sent; then the refusals of
   *   the service
   */
  update(
    accountId: string,
    addressId: string,
    change: AddressChange,
    options?: CallOptions,
  ): Promise<WithRaw<ReadAddress> | undefined>
}

/** Makes the addresses resource of a client. */
export function createAddresses(context: ResourceContext): AddressesResource {
  const { requester, forwardCursor, catalog, dialect } = context
  const decode = (value: unknown) => decodeAddress(value, catalog)
  const readPage = async (accountId: string, where: string, filters: AddressFilters, options: CallOptions) => {
    const query = encodePageQuery(encodeFilters(filters), filters, forwardCursor)
    const body = await requester.perform({ accountId, method: 'GET', path: where + query }, options.signal)
    return decodePage(body, 'addresses', decode)
  }
  const list: AddressesResource['list'] = (accountId, filters = {}, options = {}) =>
    readPage(accountId, path`/accounts/${accountId}/addresses`, filters, options)
  return {
    async createExternal(accountId, address, options = {}) {
      const body = encodeAddressInput(address, catalog, dialect)
      const input = { accountId, path: path`/accounts/${accountId}/addresses/external`, body }
      const { full, ...created } = await create(context, input, options, decode)
      return { ...created, address: full }
    },
    async createInternal(accountId, { name, transferTypes }, options = {}) {
      const body = { name, transfer_types: Address.checkTransferTypes(transferTypes, catalog) }
      const input = { accountId, path: path`/accounts/${accountId}/addresses/internal`, body }
      const { full, ...created } = await create(context, input, options, decode)
      return { ...created, address: full }
    },
    async createUpdateLinkToken(accountId, addressId, options = {}) {
      const where = path`/accounts/${accountId}/addresses/${addressId}/update-link-token`
      const { body } = await post(context, { accountId, path: where, body: {} }, options)
      return decodeLinkToken(body)
    },
    async get(accountId, addressId, options = {}) {
      const call = { accountId, method: 'GET', path: path`/accounts/${accountId}/addresses/${addressId}` } as const
      const body = await requester.find(call, options.signal)
      return body === undefined ? undefined : decode(body)
    },
    list,
    iterate: (accountId, filters = {}, options = {}) =>
      iteratePages((after) => list(accountId, { ...filters, after }, options), filters.after, options.onUnreadable),
    listAll: (accountId, filters = {}, options = {}) => readPage(accountId, '/addresses', filters, options),
    async update(accountId, addressId, change, options = {}) {
      const where =
        dialect === 'public' ? path`/accounts/${accountId}/addresses/${addressId}` : path`/addresses/${addressId}`
      const body = JSON.stringify(encodeChange(change, dialect))
      const answer = await requester.perform({ accountId, method: 'PATCH', path: where, body }, options.signal)
      return readLoosely(answer, decode)
    },
  }
}

const encodeChange = (change: AddressChange, dialect: Dialect) => {
  const { transferTypes, name, status, bankAddress, beneficiaryAddress } = change
  if (dialect !== 'public') {
    for (const field of ['bankAddress', 'beneficiaryAddress'] as const)
      if (change[field] !== undefined)
        throw new OutlayError('invalid_request', `${field}: only the public contract changes it`, { field })
    return { transfer_types: transferTypes, name, status }
  }
  return {
    additional_transfer_types: transferTypes,
    name,
    status,
    bank_address: bankAddress && encodePostalAddress(bankAddress),
    beneficiary_address: beneficiaryAddress && encodePostalAddress(beneficiaryAddress),
  }
}

const encodeFilters = ({ type, address, transferType }: AddressFilters) => ({
  type,
  address,
  transfer_type: transferType,
})
