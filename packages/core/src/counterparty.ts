import { stellarAccount } from './address-stellar.ts'
import type { ExternalAddressRequest } from './external-address.ts'
import { type Digest, fingerprint } from './idempotency.ts'
import type { TransferDestination, TransferOrder, TransferRequest } from './transfer-request.ts'
import type { TransferTypeName } from './transfer-type.ts'

/** A counterparty that a transfer gives in full: the only place with its details. */
export interface CounterpartyDetails {
  /** Fingerprint of the address: equal for equal details only. */
  readonly fingerprint: string
  readonly address: ExternalAddressRequest
}

/** What is shown of a counterparty, and all that is stored of it once the service knows it. */
export interface CounterpartySummary {
  readonly kind: ExternalAddressRequest['kind']
  readonly name: string
  /** The last characters of the account number, or of the on-chain address: four, and fewer of a short one, so that four stay hidden. */
  readonly lastFour: string
  readonly transferTypes: readonly TransferTypeName[]
  /** Fingerprint of all its details: distinguishes it from others, and stands for it in the transfer's fingerprint. */
  readonly fingerprint: string
}

/** Where value goes, as a transfer is stored: an id, a counterparty, or both once the counterparty is registered. */
export type StoredDestination =
  | (TransferDestination & { readonly address?: CounterpartySummary | undefined })
  | (Omit<TransferDestination, 'addressId'> & {
      readonly addressId?: undefined
      readonly address: CounterpartySummary
    })

/** A request as a transfer is stored, without bank details. */
export interface StoredRequest extends Omit<TransferRequest, 'destination'> {
  readonly destination: StoredDestination
}

/** A request, separate from the details of its counterparty. */
export interface SplitOrder {
  readonly request: StoredRequest
  /** Undefined when the destination is given by its id. */
  readonly details: CounterpartyDetails | undefined
}

const lastOf = (text: string): string => text.slice(Math.max(text.length - 4, 4))

const summarize = (address: ExternalAddressRequest, digest: Digest | undefined): CounterpartySummary => ({
  kind: address.kind,
  name: address.name,
  lastFour: lastOf(address.kind === 'bank_account' ? address.accountNumber : address.address),
  transferTypes: address.transferTypes,
  fingerprint: fingerprint(address, digest),
})

const split = (order: TransferOrder<ExternalAddressRequest>, digest?: Digest): SplitOrder => {
  const { destination } = order
  if (destination.addressId !== undefined) return { request: { ...order, destination }, details: undefined }
  const { address, ...leg } = destination
  const summary = summarize(address, digest)
  return {
    request: { ...order, destination: { ...leg, address: summary } },
    details: { fingerprint: summary.fingerprint, address },
  }
}

const fingerprintOf = (request: StoredRequest, digest?: Digest): string => {
  const { address, ...leg } = request.destination
  if (address === undefined) return fingerprint(request, digest)
  const destination = { ...leg, addressId: undefined, address: address.fingerprint }
  return fingerprint({ ...request, destination }, digest)
}

const registered = (request: StoredRequest): TransferRequest | undefined => {
  const { address: _, ...leg } = request.destination
  return leg.addressId === undefined ? undefined : { ...request, destination: leg }
}

/** A CLABE names its bank. */
const clabeLength = 18

const payeeOf = (address: ExternalAddressRequest, digest?: Digest): string => {
  if (address.kind !== 'bank_account') return fingerprint(`chain ${stellarAccount(address.address)}`, digest)
  const { accountNumber, routingNumber = '' } = address
  const bank = accountNumber.length === clabeLength ? '' : routingNumber
  return fingerprint(`bank ${accountNumber.replace(/^0+/, '')} ${bank}`, digest)
}

/** Separates the details of counterparties from the transfers that pay them. */
export const Counterparty = {
  /** Moves the details out of an order, and leaves a summary in their place. */
  split,
  /** Fingerprint of a whole request, all details included; the same before and after its counterparty is registered. */
  fingerprintOf,
  /**
   * Digest of who is paid, as 64 hexadecimal digits: an account number at a routing number, or an address on a chain. Names, transfer types, zeros
   * in front of an account number, postal addresses, and the id in a muxed address of Stellar make no other payee.
   */
  payeeOf,
  /** The request as it is sent; `undefined` while its counterparty is not registered. */
  registered,
} as const
