import { Address } from './address.ts'
import { type Amount, amountProblem } from './amount.ts'
import type { Catalog } from './catalog.ts'
import type { ErrorCode } from './error.ts'
import { type ExternalAddressDetails, type ExternalAddressRequest, parseExternalAddress } from './external-address.ts'
import {
  closeInput,
  enter,
  gather,
  has,
  type Input,
  member,
  notInCatalog,
  openInput,
  type ParseOptions,
  type PegOptions,
  pathOf,
  read,
  readId,
  readText,
  refuse,
} from './input.ts'
import { Limits } from './limits.ts'
import { flowOf } from './transfer-flow.ts'
import type { TransferType, TransferTypeName } from './transfer-type.ts'
import { pegProblem, type ValueType, type ValueTypeName } from './value-type.ts'

/** Where value comes from, as it is sent on create. Specification: "Transfer", TransferEndpoint. */
export interface TransferSource {
  /** Omitted only for an inbound wire. */
  readonly addressId?: string | undefined
  readonly valueType: ValueTypeName
  readonly transferType: TransferTypeName
}

/** Where value goes, as it is sent on create. */
export interface TransferDestination {
  readonly addressId: string
  readonly valueType: ValueTypeName
  readonly transferType: TransferTypeName
  /** Outbound wire only, at most 140 characters. */
  readonly wireMemo?: string | undefined
}

/** A request for a transfer: the body of a create, in TypeScript spelling. */
export interface TransferRequest {
  readonly amount: Amount
  readonly source: TransferSource
  readonly destination: TransferDestination
  /** The account whose business name the receiving bank shows; ACH only. */
  readonly brand?: { readonly accountId: string } | undefined
  /** Free text, at most 255 characters. */
  readonly note?: string | undefined
  /** The quote at whose rate value of one peg becomes value of another. */
  readonly quoteId?: string | undefined
}

/** Where value goes, given in full: an address that the service does not know yet. */
export interface InlineDestination<Details = ExternalAddressDetails> extends Omit<TransferDestination, 'addressId'> {
  readonly addressId?: undefined
  /** Lists the transfer type that it is used with. */
  readonly address: Details
}

/** Where value goes: exactly one of the id of an address and an address given in full. */
export type OrderDestination<Details = ExternalAddressDetails> =
  | (TransferDestination & { readonly address?: undefined })
  | InlineDestination<Details>

/** A transfer that a host enqueues: its destination may be given in full. */
export interface TransferOrder<Details = ExternalAddressDetails> extends Omit<TransferRequest, 'destination'> {
  readonly destination: OrderDestination<Details>
}

const members = {
  amount: member('amount'),
  value: member('value'),
  currency: member('currency'),
  source: member('source'),
  destination: member('destination'),
  addressId: member('addressId'),
  address: member('address'),
  valueType: member('valueType'),
  transferType: member('transferType'),
  wireMemo: member('wireMemo'),
  brand: member('brand'),
  accountId: member('accountId'),
  note: member('note'),
  quoteId: member('quoteId'),
} as const

const responseOnly = ['id', 'status', 'failure', 'createdAt', 'updatedAt', 'automationId', 'wireInstructions'].map(
  member,
)
const responseOnlyOnLeg = ['transactionId', 'paymentDetails', 'financialInstitutionId'].map(member)

/** One leg being read: members that broke a rule are undefined. */
interface Leg {
  readonly input: Input
  readonly addressId: string | undefined
  /** The address, when the leg is given inline and may be. */
  readonly address: ExternalAddressRequest | undefined
  readonly value: ValueType | undefined
  readonly rail: TransferType | undefined
}

const refuseResponseOnly = (input: Input, list: typeof responseOnly): void => {
  for (const at of list) if (has(input.record, at)) refuse(input, at, 'response_only_field', 'is set by the service')
}

/** What a name is chosen from. */
interface Choice<T> {
  readonly find: (name: string) => T | undefined
  readonly entries: readonly { readonly name: string }[]
  readonly code: ErrorCode
}

const valueTypeOf = ({ valueType, valueTypes }: Catalog): Choice<ValueType> => ({
  ...{ find: valueType, entries: valueTypes, code: 'unknown_value_type' },
})

const transferTypeOf = ({ transferType, transferTypes }: Catalog): Choice<TransferType> => ({
  ...{ find: transferType, entries: transferTypes, code: 'unknown_transfer_type' },
})

const readName = <T>(
  input: Input,
  at: (typeof members)['valueType'],
  { find, entries, code }: Choice<T>,
): T | undefined => {
  const name = read(input.record, at)
  if (typeof name !== 'string' || name === '') {
    return refuse(input, at, name === undefined || name === '' ? 'missing_field' : 'invalid_request', 'must be a name')
  }
  return find(name) ?? refuse(input, at, code, notInCatalog(entries))
}

const readInline = (
  input: Input,
  rail: TransferType | undefined,
  catalog: Catalog,
): ExternalAddressRequest | undefined => {
  if (read(input.record, members.addressId) !== undefined) {
    return refuse(input, members.address, 'invalid_request', 'is given beside addressId; give exactly one of the two')
  }
  const options = { fieldPrefix: pathOf(input, members.address), spelling: input.spelling }
  const address = gather(input, () => parseExternalAddress(read(input.record, members.address), catalog, options))
  if (address !== undefined && rail !== undefined && !Address.allows(address.transferTypes, rail.name, catalog)) {
    refuse(input, members.transferType, 'transfer_type_not_supported', `the address does not list ${rail.name}`)
  }
  return address
}

const readLeg = (
  parent: Input,
  side: 'source' | 'destination',
  catalog: Catalog,
  mayBeInline = false,
): Leg | undefined => {
  const input = enter(parent, members[side], false, [members.addressId, members.valueType, members.transferType])
  if (input === undefined) return undefined
  refuseResponseOnly(input, responseOnlyOnLeg)
  const value = readName(input, members.valueType, valueTypeOf(catalog))
  const rail = readName(input, members.transferType, transferTypeOf(catalog))
  const inline = mayBeInline && read(input.record, members.address) !== undefined
  const address = inline ? readInline(input, rail, catalog) : undefined
  const addressId = readId(input, members.addressId, inline || (side === 'source' && rail?.wire === true))
  if (value !== undefined && rail !== undefined && !catalog.pairs(value.name, rail.name)) {
    refuse(input, members.transferType, 'transfer_type_not_supported', `${value.name} does not move on ${rail.name}`)
  }
  return { input, addressId, address, value, rail }
}

const readAmount = (
  parent: Input,
  catalog: Catalog,
  source: Leg | undefined,
  destination: Leg | undefined,
): Amount | undefined => {
  const input = enter(parent, members.amount, false, [members.value, members.currency])
  if (input === undefined) return undefined
  const currency = readName(input, members.currency, valueTypeOf(catalog))
  // With a quote, the other side has an amount of its own.
  const isQuoted = read(parent.record, members.quoteId) !== undefined
  const scales = (isQuoted ? [currency] : [currency, source?.value, destination?.value]).flatMap((type) =>
    type === undefined ? [] : [type.scale],
  )
  const value = read(input.record, members.value)
  const problem = amountProblem(value, scales.length === 0 ? undefined : Math.min(...scales))
  if (value === undefined) refuse(input, members.value, 'missing_field', 'is required')
  else if (problem !== undefined) refuse(input, members.value, problem.code, problem.message)
  else if (!/[1-9]/.test(String(value))) refuse(input, members.value, 'amount_not_positive', 'must be more than zero')
  if (currency !== undefined && source?.value !== undefined && destination?.value !== undefined) {
    const pegged = source.value.peg === currency.name && destination.value.peg === currency.name
    if (currency !== source.value && currency !== destination.value && !pegged) {
      const message = 'must be the value type of the source or the destination, or the currency that both are worth'
      refuse(input, members.currency, 'currency_mismatch', message)
    }
  }
  return problem === undefined && currency !== undefined
    ? { currency: currency.name, value: value as string }
    : undefined
}

// Both are plain decimals without leading zeros, so more digits before the point mean more money.
const exceeds = (value: string, limit: string): boolean => {
  const [whole = '', fraction = ''] = value.split('.')
  if (whole.length !== limit.length) return whole.length > limit.length
  return whole > limit || (whole === limit && /[1-9]/.test(fraction))
}

const readMemo = (destination: Leg): string | undefined => {
  const memo = readText(destination.input, members.wireMemo, {
    optional: true,
    empty: true,
    max: Limits.wireMemoCharacters,
    tooLong: 'wire_memo_too_long',
  })
  if (memo !== undefined && destination.rail !== undefined && !destination.rail.wire) {
    return refuse(destination.input, members.wireMemo, 'wire_memo_not_supported', 'is for an outbound wire only')
  }
  return memo
}

const readBrand = (input: Input, source: Leg | undefined, destination: Leg | undefined): string | undefined => {
  const brand = enter(input, members.brand, true)
  if (brand === undefined) return undefined
  const accountId = readId(brand, members.accountId)
  if (source?.rail !== undefined && destination?.rail !== undefined) {
    if (!source.rail.brandable && !destination.rail.brandable) {
      return refuse(input, members.brand, 'brand_not_supported', 'is for ACH only')
    }
  }
  return accountId
}

const checkLimit = (input: Input, amount: Amount | undefined, source: Leg | undefined): void => {
  const limit = source?.rail?.inboundLimit ?? null
  if (limit === null || amount === undefined || !exceeds(amount.value, limit)) return
  const prefix = enter(input, members.amount)
  if (prefix === undefined) return
  refuse(prefix, members.value, 'ach_limit_exceeded', `must be at most ${limit} for ${source?.rail?.name}`)
}

const checkPeg = (source: Leg | undefined, destination: Leg | undefined, hint: string | undefined): void => {
  if (source?.value === undefined || destination?.value === undefined) return
  const message = pegProblem(source.value, destination.value, source.value.kind === 'token' ? hint : undefined)
  if (message !== undefined) refuse(destination.input, members.valueType, 'peg_mismatch', message)
}

const checkFlow = (source: Leg | undefined, destination: Leg | undefined, { movesBetweenChains }: Catalog): void => {
  if (source?.value === undefined || source.rail === undefined) return
  if (destination?.value === undefined || destination.rail === undefined) return
  const legs = {
    source: { addressId: source.addressId, valueType: source.value.name, transferType: source.rail.name },
    destination: {
      addressId: destination.addressId,
      valueType: destination.value.name,
      transferType: destination.rail.name,
    },
  }
  const flow = flowOf(legs, source.rail, destination.rail, { movesBetweenChains })
  if (typeof flow === 'string') return
  const { input } = flow.side === 'source' ? source : destination
  refuse(input, members[flow.member], flow.code, flow.message)
}

/**
 * Reads the body that creates a transfer. Members may be spelled `addressId` or `address_id`; value types and transfer
 * types come out under their canonical names; unknown members are dropped. Specification: "Transfers".
 *
 * Throws one OutlayError whose `issues` name every broken rule, each with its field as the caller spelled it:
 * `missing_field`, `invalid_request`, `response_only_field`, `invalid_id`, `unknown_value_type`,
 * `unknown_transfer_type`, `transfer_type_not_supported`, `invalid_amount`, `amount_not_positive`, `amount_too_large`,
 * `amount_too_precise`, `currency_mismatch`, `ach_limit_exceeded`, `unsupported_flow`,
 * `swap_chain_mismatch`, `mixed_environments`, `wire_memo_not_supported`, `wire_memo_too_long`, `brand_not_supported`,
 * `note_too_long`; with `options.samePeg` and without a quote, `peg_mismatch`.
 */
export const parseTransferRequest = (body: unknown, catalog: Catalog, options: PegOptions = {}): TransferRequest => {
  const { destination, ...rest } = parse(body, catalog, options, false)
  if (destination.addressId === undefined) throw new Error(unread)
  return { ...rest, destination }
}

/**
 * Reads a request that a host enqueues: as `parseTransferRequest`, but the destination may be an external address given in full
 * as `address` instead of `addressId`. Its broken rules are those of `parseExternalAddress`, under `destination.address`.
 *
 * Throws what `parseTransferRequest` throws, and `invalid_request` for both, `missing_field` for neither, and
 * `transfer_type_not_supported` when the address does not list the transfer type that it is used with.
 */
export const parseTransferOrder = (
  body: unknown,
  catalog: Catalog,
  options: ParseOptions = {},
): TransferOrder<ExternalAddressRequest> => parse(body, catalog, options, true)

const parse = (
  body: unknown,
  catalog: Catalog,
  options: PegOptions,
  mayBeInline: boolean,
): TransferOrder<ExternalAddressRequest> => {
  const input = openInput(body, options)
  refuseResponseOnly(input, responseOnly)
  const source = readLeg(input, 'source', catalog)
  const destination = readLeg(input, 'destination', catalog, mayBeInline)
  const amount = readAmount(input, catalog, source, destination)
  checkLimit(input, amount, source)
  checkFlow(source, destination, catalog)
  const quoteId = readId(input, members.quoteId, true)
  if (options.samePeg === true && quoteId === undefined) checkPeg(source, destination, options.pegHint)
  if (source !== undefined && has(source.input.record, members.wireMemo)) {
    refuse(source.input, members.wireMemo, 'wire_memo_not_supported', 'belongs to the destination')
  }
  const wireMemo = destination === undefined ? undefined : readMemo(destination)
  const brand = readBrand(input, source, destination)
  const noteRule = { optional: true, empty: true, max: Limits.noteCharacters, tooLong: 'note_too_long' } as const
  const note = readText(input, members.note, noteRule)
  closeInput(input)
  if (amount === undefined || source?.value === undefined || source.rail === undefined) throw new Error(unread)
  if (destination?.value === undefined || destination.rail === undefined) throw new Error(unread)
  // Sorted by name, as a fingerprint reads them.
  return {
    amount,
    ...(brand === undefined ? {} : { brand: { accountId: brand } }),
    destination: {
      ...nameDestination(destination),
      transferType: destination.rail.name,
      valueType: destination.value.name,
      ...(wireMemo === undefined ? {} : { wireMemo }),
    },
    ...(note === undefined ? {} : { note }),
    ...(quoteId === undefined ? {} : { quoteId }),
    source: {
      ...(source.addressId === undefined ? {} : { addressId: source.addressId }),
      transferType: source.rail.name,
      valueType: source.value.name,
    },
  }
}

const nameDestination = ({ addressId, address }: Leg) => {
  if (addressId !== undefined) return { addressId }
  if (address === undefined) throw new Error(unread)
  return { address }
}

const unread = 'parseTransferRequest: nothing was refused and something was not read'
