import { Limits } from './limits.ts'
import type { ValueTypeName } from './value-type.ts'

/** Kinds of rail: banks, and families of chains that share an address format. */
export const families = ['evm', 'solana', 'stellar', 'xrp', 'canton', 'bank'] as const

/** A family that every catalog has. */
export type BuiltInFamily = (typeof families)[number]

/** The family of a rail: a built-in one, or the name of one that a host adds. */
export type Family = BuiltInFamily | (string & {})

/** A built-in family of chains. */
export type BuiltInChainFamily = Exclude<BuiltInFamily, 'bank'>

/** A family of chains: a built-in one, or the name of one that a host adds. */
export type ChainFamily = BuiltInChainFamily | (string & {})

/** Real money or play money. */
export type Environment = 'mainnet' | 'testnet'

/** A rail or a chain. Specification: "Conventions", transfer_type. */
export interface TransferType {
  /** Canonical name, for example `polygon`. */
  readonly name: string
  /** Other spellings that are accepted on create, for example `Polygon`. */
  readonly aliases: readonly string[]
  readonly family: Family
  /** `null` for a bank rail, which exists in both environments. */
  readonly environment: Environment | null
  /** Usual time until a transfer is final, in milliseconds. */
  readonly expectedMs: number
  /** Names of the value types that move on it; `null` for every token. */
  readonly valueTypes: readonly ValueTypeName[] | null
  /** True when value can come from it. */
  readonly inbound: boolean
  /** True when value can go to it. */
  readonly outbound: boolean
  /** True when the statement line can show the name of a chosen account: ACH only. */
  readonly brandable: boolean
  /** True when an outbound payment carries a memo, and when an inbound one needs no address: wire only. */
  readonly wire: boolean
  /** Largest inbound payment, in units of its value type; `null` for no limit. */
  readonly inboundLimit: string | null
  /** How long a payment may come back after it was complete, in milliseconds; `null` where it cannot. */
  readonly returnWindowMs: number | null
  /** Names of transfer types whose presence on an address allows this one too. */
  readonly coveredBy: readonly string[]
}

/** The description of a transfer type for a catalog: absent members have defaults. */
export type TransferTypeInput = Pick<TransferType, 'name' | 'family' | 'expectedMs'> & Partial<TransferType>

const seconds = 1000
const minutes = 60 * seconds
const hours = 60 * minutes
const days = 24 * hours

/**
 * How long payments by ACH come back. Banks return a credit within two banking days, between which a weekend and a holiday may be. They
 * return a debit that the owner of the account did not authorize within 60 days.
 */
const returnWindows = { credit: 6 * days, debit: 60 * days } as const

const usd = { family: 'bank', valueTypes: ['USD'], inbound: false, outbound: false } as const
const evm = { family: 'evm', expectedMs: 30 * seconds } as const
const testnet = { environment: 'testnet' } as const

const defaults = [
  { ...usd, name: 'wire', expectedMs: 2 * hours, inbound: true, outbound: true, wire: true },
  {
    ...usd,
    name: 'ach_credit',
    expectedMs: 2 * days,
    outbound: true,
    brandable: true,
    returnWindowMs: returnWindows.credit,
  },
  {
    ...usd,
    name: 'ach_debit',
    expectedMs: 2 * days,
    inbound: true,
    brandable: true,
    inboundLimit: Limits.inboundAchUsd,
    returnWindowMs: returnWindows.debit,
  },
  {
    ...usd,
    name: 'same_day_ach_credit',
    expectedMs: 6 * hours,
    outbound: true,
    brandable: true,
    coveredBy: ['ach_credit'],
    returnWindowMs: returnWindows.credit,
  },
  { ...usd, name: 'rtp', aliases: ['rtp_credit'], expectedMs: minutes, outbound: true },
  { ...usd, name: 'spei', valueTypes: ['MXN'], expectedMs: 5 * minutes, outbound: true },
  { ...evm, name: 'ethereum', expectedMs: 3 * minutes },
  { ...evm, name: 'base' },
  { ...evm, name: 'polygon' },
  { ...evm, name: 'arbitrum' },
  { ...evm, name: 'optimism' },
  { ...evm, name: 'avalanche' },
  { ...evm, name: 'celo' },
  { ...evm, name: 'bnb' },
  { name: 'solana', family: 'solana', expectedMs: 10 * seconds },
  { name: 'stellar', family: 'stellar', expectedMs: 10 * seconds },
  { name: 'xrp_ledger', family: 'xrp', expectedMs: 10 * seconds },
  { name: 'canton', family: 'canton', expectedMs: 30 * seconds },
  { ...evm, ...testnet, name: 'sepolia', expectedMs: 3 * minutes },
  { ...evm, ...testnet, name: 'base_sepolia' },
  { ...evm, ...testnet, name: 'amoy' },
  { ...evm, ...testnet, name: 'fuji' },
  { ...testnet, name: 'solana_devnet', family: 'solana', expectedMs: 10 * seconds },
  { ...testnet, name: 'stellar_testnet', family: 'stellar', expectedMs: 10 * seconds },
  { ...testnet, name: 'xrp_ledger_testnet', family: 'xrp', expectedMs: 10 * seconds },
  { ...testnet, name: 'canton_testnet', family: 'canton', expectedMs: 30 * seconds },
] as const satisfies readonly TransferTypeInput[]

/** Transfer types that every catalog has. */
export const defaultTransferTypes: readonly TransferTypeInput[] = defaults

/** Name of a transfer type: one that every catalog has, or one that a host adds. */
export type TransferTypeName = (typeof defaults)[number]['name'] | (string & {})
