import { type AddressFamily, indexFamilies } from './address-family.ts'
import { defaultTransferTypes, families, type TransferType, type TransferTypeInput } from './transfer-type.ts'
import { defaultValueTypes, type ValueType, type ValueTypeInput } from './value-type.ts'

/** What a host adds to the default catalog. */
export interface CatalogExtension {
  readonly valueTypes?: readonly ValueTypeInput[] | undefined
  readonly transferTypes?: readonly TransferTypeInput[] | undefined
  /** Families of chains with their address checks, such as `bech32Family()` and `tronFamily()`. */
  readonly families?: readonly AddressFamily[] | undefined
  /** True when one token moves one to one between two chains of the service's own wallets. Default false: a swap stays on its chain. */
  readonly movesBetweenChains?: boolean | undefined
}

/** The value types and transfer types that a deployment knows; frozen. */
export interface Catalog {
  /** In the order of definition. */
  readonly valueTypes: readonly ValueType[]
  /** In the order of definition. */
  readonly transferTypes: readonly TransferType[]
  /** Finds a value type by its name or an alias; `undefined` when there is none. */
  valueType(name: string): ValueType | undefined
  /** Finds a transfer type by its name or an alias; `undefined` when there is none. */
  transferType(name: string): TransferType | undefined
  /** A family that the host has added; `undefined` for a built-in one and an unknown one. */
  family(name: string): AddressFamily | undefined
  /** True when one token moves between two chains of the service's own wallets. */
  readonly movesBetweenChains: boolean
  /** True when the value type moves on the transfer type: fiat on banks, tokens on chains. Expects canonical names. */
  pairs(valueType: string, transferType: string): boolean
}

// Both cases of a name occur in the wild: usd and USD, polygon and Polygon.
const spellings = (name: string): string[] => [
  name.toLowerCase(),
  name.toUpperCase(),
  name.charAt(0).toUpperCase() + name.slice(1).toLowerCase(),
]

const aliasesOf = (name: string, given: readonly string[] = []): readonly string[] => {
  const all = new Set([name, ...given].flatMap((spelling) => [spelling, ...spellings(spelling)]))
  all.delete(name)
  return Object.freeze([...all])
}

const completeTransferType = (input: TransferTypeInput): TransferType => {
  const bank = input.family === 'bank'
  if (bank && input.valueTypes == null)
    throw new Error(`transfer type ${input.name}: a bank rail lists its value types`)
  return Object.freeze({
    environment: bank ? null : 'mainnet',
    inbound: true,
    outbound: true,
    brandable: false,
    wire: false,
    inboundLimit: null,
    returnWindowMs: null,
    ...input,
    valueTypes: input.valueTypes == null ? null : Object.freeze([...input.valueTypes]),
    aliases: aliasesOf(input.name, input.aliases),
    coveredBy: Object.freeze([...(input.coveredBy ?? [])]),
  })
}

const namePattern = /^[A-Za-z0-9_]{1,64}$/

// Tokens such as USD+.
const valueTypePattern = /^[A-Za-z0-9_+]{1,64}$/

const index = <T extends { readonly name: string; readonly aliases: readonly string[] }>(
  kind: 'value type' | 'transfer type',
  entries: readonly T[],
): ReadonlyMap<string, T> => {
  const byName = new Map<string, T>()
  for (const entry of entries) {
    for (const name of [entry.name, ...entry.aliases]) {
      if (!(kind === 'value type' ? valueTypePattern : namePattern).test(name))
        throw new Error(`${kind} ${name}: a name has letters, digits and underscores only`)
      const other = byName.get(name)
      if (other !== undefined) throw new Error(`${kind} ${name}: already the name or an alias of ${other.name}`)
      byName.set(name, entry)
    }
  }
  return byName
}

/**
 * Creates a catalog of the default value types and transfer types and those of a host.
 *
 * Throws Error when a name or an alias is in use, when a rail names an unknown value type or an unknown family, when a scale is not 0 to 18,
 * or when the peg of a value type is an alias or has another peg.
 */
export const createCatalog = (extension: CatalogExtension = {}): Catalog => {
  const valueTypes = [...defaultValueTypes, ...(extension.valueTypes ?? [])].map(
    (input): ValueType =>
      Object.freeze({ ...input, peg: input.peg ?? input.name, aliases: aliasesOf(input.name, input.aliases) }),
  )
  const transferTypes = [...defaultTransferTypes, ...(extension.transferTypes ?? [])].map(completeTransferType)
  const byValue = index('value type', valueTypes)
  const byTransfer = index('transfer type', transferTypes)
  for (const { name, scale, peg } of valueTypes) {
    if (!Number.isInteger(scale) || scale < 0 || scale > 18)
      throw new Error(`value type ${name}: scale must be 0 to 18`)
    const pegged = byValue.get(peg)
    if (pegged !== undefined && (pegged.name !== peg || pegged.peg !== peg))
      throw new Error(`value type ${name}: the peg ${peg} must be the name of a value type that is worth itself`)
  }
  const byFamily = indexFamilies(extension.families ?? [], families)
  for (const { name, family, valueTypes: names } of transferTypes) {
    if (!(families as readonly string[]).includes(family) && !byFamily.has(family))
      throw new Error(
        `transfer type ${name}: unknown family ${family}; add it to families, with the check of its addresses`,
      )
    const unknown = names?.find((value) => byValue.get(value)?.name !== value)
    if (unknown !== undefined) throw new Error(`transfer type ${name}: unknown value type ${unknown}`)
  }
  const pairs = (valueType: string, transferType: string): boolean => {
    const rail = byTransfer.get(transferType)
    const value = byValue.get(valueType)
    if (rail === undefined || value === undefined) return false
    return rail.valueTypes === null ? value.kind === 'token' : rail.valueTypes.includes(value.name)
  }
  return Object.freeze({
    valueTypes: Object.freeze(valueTypes),
    transferTypes: Object.freeze(transferTypes),
    valueType: (name: string) => byValue.get(name),
    transferType: (name: string) => byTransfer.get(name),
    family: (name: string) => byFamily.get(name),
    movesBetweenChains: extension.movesBetweenChains ?? false,
    pairs,
  })
}

/** The catalog without additions. */
export const defaultCatalog: Catalog = createCatalog()
