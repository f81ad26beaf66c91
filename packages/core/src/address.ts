import { parseCantonParty } from './address-canton.ts'
import { parseEvmAddress } from './address-evm.ts'
import { parseByFamily } from './address-family.ts'
import { parseSolanaAddress } from './address-solana.ts'
import { parseStellarAddress } from './address-stellar.ts'
import { parseXrpAddress } from './address-xrp.ts'
import type { BankAccountType } from './bank-account.ts'
import { type Catalog, defaultCatalog } from './catalog.ts'
import { OutlayError } from './error.ts'
import type { PostalAddress } from './postal-address.ts'
import type { BuiltInChainFamily, ChainFamily, TransferType, TransferTypeName } from './transfer-type.ts'

/** Kinds of address. Specification: "Address". */
export const addressTypes = ['internal', 'external'] as const

/** `internal` for a custodial wallet, `external` for a counterparty. */
export type AddressType = (typeof addressTypes)[number]

/** Statuses of an address; only an active one can be used in a transfer. */
export const addressStatuses = ['pending', 'active', 'archived'] as const

/** Status of an address. */
export type AddressStatus = (typeof addressStatuses)[number]

/** An address as the service returns it. Specification: "Address". */
export interface AddressRecord {
  readonly id: string
  readonly type: AddressType
  readonly status: AddressStatus
  readonly name: string
  /** On-chain address or Canton party; empty for a bank account. */
  readonly address: string
  /** Canonical names. */
  readonly transferTypes: readonly TransferTypeName[]
  /** ISO 8601, UTC. */
  readonly created: string
  /** Who holds the keys: the service for an internal address. */
  readonly ownership?: string | undefined
  /** Bank accounts only, like the members below. */
  readonly owner?: string | undefined
  readonly accountType?: BankAccountType | undefined
  readonly bankAddress?: PostalAddress | undefined
  readonly beneficiaryAddress?: PostalAddress | undefined
  /** Nine digits. */
  readonly routingNumber?: string | undefined
  /** Masked: `****` and the last four digits. */
  readonly accountNumber?: string | undefined
}

const parsers = {
  evm: parseEvmAddress,
  solana: parseSolanaAddress,
  stellar: parseStellarAddress,
  xrp: parseXrpAddress,
  canton: parseCantonParty,
} as const satisfies Record<BuiltInChainFamily, (value: string, field: string) => string>

const isBuiltIn = (family: ChainFamily): family is BuiltInChainFamily => Object.hasOwn(parsers, family)

const parse = (family: ChainFamily, value: unknown, field = 'address', catalog: Catalog = defaultCatalog): string => {
  if (typeof value !== 'string')
    throw OutlayError.fromIssues([{ field, code: 'invalid_address', message: 'must be a string' }])
  if (isBuiltIn(family)) return parsers[family](value, field)
  const added = catalog.family(family)
  if (added === undefined) throw new Error(`The catalog has no family ${family}.`)
  return parseByFamily(added, value, field)
}

const resolved = (names: readonly string[], catalog: Catalog, field: string): TransferType[] =>
  names.map((name, at) => {
    const entry = catalog.transferType(name)
    if (entry !== undefined) return entry
    throw OutlayError.fromIssues([
      { field: `${field}.${at}`, code: 'unknown_transfer_type', message: 'is not a known transfer type' },
    ])
  })

const refuse = (code: 'mixed_chains' | 'mixed_environments', field: string, message: string): never => {
  throw OutlayError.fromIssues([{ field, code, message }])
}

const checkTransferTypes = (names: readonly string[], catalog: Catalog, field = 'transferTypes'): readonly string[] => {
  const entries = [...new Set(resolved(names, catalog, field))]
  const [first, ...others] = entries
  if (first === undefined) {
    throw OutlayError.fromIssues([{ field, code: 'missing_field', message: 'must name at least one transfer type' }])
  }
  for (const other of others) {
    if (other.family !== first.family)
      refuse('mixed_chains', field, `cannot list ${first.name} and ${other.name} together`)
    if (other.environment !== first.environment) {
      refuse('mixed_environments', field, `cannot list ${first.name} and ${other.name} together`)
    }
  }
  if (others.length > 0 && first.family === 'bank') checkRails(entries, field)
  if (others.length > 0 && first.family !== 'bank' && first.family !== 'evm') {
    refuse('mixed_chains', field, `${first.name} needs an address of its own`)
  }
  return entries.map(({ name }) => name)
}

// A CLABE is no US account number, so rails of different currencies never share an account.
const checkRails = (entries: readonly TransferType[], field: string): void => {
  const currencies = new Set(entries.map(({ valueTypes }) => valueTypes?.join() ?? ''))
  if (currencies.size > 1) refuse('mixed_chains', field, 'cannot list rails of different currencies together')
}

const allows = (transferTypes: readonly string[], transferType: string, catalog: Catalog): boolean => {
  if (transferTypes.includes(transferType)) return true
  return catalog.transferType(transferType)?.coveredBy.some((name) => transferTypes.includes(name)) ?? false
}

/** Rules of addresses. */
export const Address = {
  /**
   * Reads an on-chain address or a Canton party into its canonical spelling; throws `invalid_address` or `address_checksum_mismatch`. The
   * family is a built-in one, or one of the catalog.
   */
  parse,
  /**
   * Resolves the transfer types of one address entry to canonical names, each once. Throws `unknown_transfer_type`,
   * `mixed_chains` (only EVM chains share an entry) or `mixed_environments`.
   */
  checkTransferTypes,
  /** True when an address with these transfer types can be used with that one; `ach_credit` covers `same_day_ach_credit`. */
  allows,
} as const
