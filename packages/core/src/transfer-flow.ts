import type { Catalog } from './catalog.ts'
import { type ErrorCode, OutlayError } from './error.ts'
import { notInCatalog, type ParseOptions, pathUnder } from './input.ts'
import type { TransferType, TransferTypeName } from './transfer-type.ts'
import type { ValueTypeName } from './value-type.ts'

/** Kinds of transfer. Specification: "What the service does", 3. */
export const transferFlows = ['onramp', 'offramp', 'swap', 'payout'] as const

/** The kind of a transfer: fiat to token, token to fiat, one token to another, or tokens to another party. */
export type TransferFlow = (typeof transferFlows)[number]

/** One side of a transfer, with the members that determine its flow. */
export interface FlowLeg {
  readonly addressId?: string | undefined
  readonly valueType: ValueTypeName
  readonly transferType: TransferTypeName
}

/** Both sides of a transfer; a TransferRequest is one. */
export interface FlowLegs {
  readonly source: FlowLeg
  readonly destination: FlowLeg
}

/** Kinds of the two addresses, as far as they are known. */
export interface KnownAddressTypes {
  readonly source?: 'internal' | 'external' | undefined
  readonly destination?: 'internal' | 'external' | undefined
}

/** What else decides about a flow. */
interface FlowKnowledge extends KnownAddressTypes {
  /** As the catalog has it. Default false. */
  readonly movesBetweenChains?: boolean | undefined
}

/** Why a source and a destination make no flow. */
export interface FlowProblem {
  readonly side: 'source' | 'destination'
  readonly member: 'addressId' | 'transferType'
  readonly code: ErrorCode
  readonly message: string
}

const problem = (
  side: FlowProblem['side'],
  member: FlowProblem['member'],
  message: string,
  code: ErrorCode = 'unsupported_flow',
): FlowProblem => ({ side, member, code, message })

const betweenChains = (
  { source, destination }: FlowLegs,
  from: TransferType,
  to: TransferType,
  { destination: kind, movesBetweenChains }: FlowKnowledge,
): TransferFlow | FlowProblem => {
  if (from.environment !== to.environment) {
    return problem('destination', 'transferType', `must be in the environment of ${from.name}`, 'mixed_environments')
  }
  const converts = source.valueType !== destination.valueType
  if (from.name !== to.name && movesBetweenChains === true && !converts) {
    if (kind !== 'external') return 'swap'
    return problem(
      'destination',
      'addressId',
      `must be a wallet of the service, or on the chain of the source, ${from.name}`,
    )
  }
  if (from.name !== to.name) {
    const message = `must be on the chain of the source, ${from.name}`
    return problem('destination', 'transferType', message, 'swap_chain_mismatch')
  }
  if (!converts && source.addressId === destination.addressId) {
    return problem('destination', 'addressId', 'must differ from the source')
  }
  return converts && kind !== 'external' ? 'swap' : 'payout'
}

/** The flow of two legs whose rails are given, or the problem. */
export const flowOf = (
  legs: FlowLegs,
  from: TransferType,
  to: TransferType,
  known: FlowKnowledge = {},
): TransferFlow | FlowProblem => {
  if (!from.inbound)
    return problem(
      'source',
      'transferType',
      `${from.name} cannot be a source; a payout leaves from a wallet on a chain, such as base`,
    )
  if (!to.outbound) return problem('destination', 'transferType', `${to.name} cannot be a destination`)
  if (from.family === 'bank') {
    if (to.family === 'bank') return problem('destination', 'transferType', 'must be a chain when the source is a bank')
    return known.source === 'internal' ? problem('source', 'addressId', 'must be a bank account') : 'onramp'
  }
  if (known.source === 'external') return problem('source', 'addressId', 'must be an internal address')
  if (to.family !== 'bank') return betweenChains(legs, from, to, known)
  return known.destination === 'internal' ? problem('destination', 'addressId', 'must be a bank account') : 'offramp'
}

const railOf = (catalog: Catalog, legs: FlowLegs, side: FlowProblem['side']): TransferType | FlowProblem =>
  catalog.transferType(legs[side].transferType) ??
  problem(side, 'transferType', notInCatalog(catalog.transferTypes), 'unknown_transfer_type')

const classify = (
  legs: FlowLegs,
  catalog: Catalog,
  known: KnownAddressTypes = {},
  options: ParseOptions = {},
): TransferFlow => {
  const from = railOf(catalog, legs, 'source')
  const to = railOf(catalog, legs, 'destination')
  const flow =
    'code' in from
      ? from
      : 'code' in to
        ? to
        : flowOf(legs, from, to, { ...known, movesBetweenChains: catalog.movesBetweenChains })
  if (typeof flow === 'string') return flow
  const field = pathUnder(options, flow.side, flow.member)
  throw OutlayError.fromIssues([{ field, code: flow.code, message: flow.message }])
}

/** The flow where the kinds of the addresses are known, and beside it the one that it is where a destination is outside. */
function possible(legs: FlowLegs, catalog: Catalog, known: KnownAddressTypes = {}): readonly TransferFlow[] {
  const flow = classify(legs, catalog, known)
  if (known.destination !== undefined) return [flow]
  const from = catalog.transferType(legs.source.transferType)
  const to = catalog.transferType(legs.destination.transferType)
  if (from === undefined || to === undefined) return [flow]
  const { movesBetweenChains } = catalog
  const outside = flowOf(legs, from, to, { ...known, destination: 'external', movesBetweenChains })
  return typeof outside === 'string' && outside !== flow ? [flow, outside] : [flow]
}

/** Determines the kind of a transfer. */
export const TransferFlow = {
  /**
   * Classifies source and destination, whose names are canonical or aliases. Where the kind of the destination is not
   * known, two value types on one chain are a swap, and so is one token on two chains where the catalog moves it between them. Throws `unsupported_flow`, `swap_chain_mismatch`,
   * `mixed_environments` or `unknown_transfer_type`, with the field in camelCase unless `options.spelling` says snake.
   */
  classify,
  /** All kinds that a transfer may be of: more than one where its destination may be a wallet of the service or not. Throws what `classify` throws. */
  possible,
} as const
