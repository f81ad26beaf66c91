import { type Amount, OutlayError, type TransferRequest, type WireInstructions } from '@outlay/core'
import { z } from 'zod'
import type { PostalAddress } from '../addresses/addresses.ts'
import type { ServiceContext } from '../context.ts'
import { askFor } from '../database/asking-client.ts'
import type { AgreedQuote } from '../quotes/use.ts'
import { movedAmount } from '../rail-facts/moved-amount.ts'
import { foreignId, foreignText } from '../rails/foreign-value.ts'
import { isInboundWire } from '../rails/inbound-wire.ts'
import type { RailInstruction, RailLeg } from '../rails/port.ts'
import { askRail, railOf } from '../rails/rail-call.ts'
import type { Party, TransferParties } from './parties.ts'

/** Answers of a rail are stored, or shown, as they are read here. One that the port does not describe is no answer. */
const refusalSchema = z
  .object({
    code: z.enum(['invalid_account_number', 'invalid_routing_number', 'invalid_address', 'rejected_by_service']),
    field: foreignText,
    detail: foreignText,
  })
  .optional()

/** A sender copies numbers and the memo, so they are never cleaned. */
const wireSchema = z.object({
  beneficiaryName: foreignText,
  bankName: foreignText,
  bankAddress: foreignText,
  accountNumber: foreignId,
  routingNumber: foreignId,
  beneficiaryAddress: foreignText,
  memo: foreignId
    .or(z.literal(''))
    .nullish()
    .transform((memo) => memo ?? null),
})

/** The rail's instruction for a transfer that does not exist yet. */
export function newInstruction(transfer: {
  readonly id: string
  readonly accountId: string
  readonly flow: RailInstruction['flow']
  readonly request: TransferRequest
  readonly parties: TransferParties
  readonly brand?: { readonly business_name: string } | undefined
  readonly quote?: AgreedQuote | undefined
}): RailInstruction {
  const { id, accountId, flow, request, parties, brand, quote } = transfer
  return {
    transferId: id,
    accountId,
    flow,
    ...paidBy(quote, movedAmount(request.amount, flow, request)),
    source: railLeg(request.source, parties.source),
    destination: railLeg(request.destination, parties.destination),
    wireMemo: request.destination.wireMemo,
    brandAccountId: request.brand?.accountId,
    statementName: brand?.business_name ?? parties.businessName,
  }
}

/** What a rail pays: with a quote, the amount of the destination, and otherwise what it moves. */
export function paidBy(quote: AgreedQuote | undefined, amount: Amount): Pick<RailInstruction, 'amount' | 'quote'> {
  if (quote === undefined) return { amount }
  const { reference, rate, sourceAmount, destinationAmount } = quote
  return { amount: destinationAmount, quote: { reference, rate, sourceAmount } }
}

/**
 * Refuses the address of a source by wire. Nobody can pull a wire from an account, so tokens would be minted for money that nobody sent.
 * @throws OutlayError `unsupported_flow`.
 */
export function checkWireSource({ catalog }: Pick<ServiceContext, 'catalog'>, { source }: TransferRequest): void {
  if (source.addressId === undefined || catalog.transferType(source.transferType)?.wire !== true) return
  const message =
    'A wire cannot be pulled from an account. Leave the address out, and send the wire as wire_instructions of the transfer say.'
  throw new OutlayError('unsupported_flow', message, { field: 'source.addressId' })
}

function railLeg(
  leg: { readonly valueType: string; readonly transferType: string },
  party: Party | undefined,
): RailLeg {
  return {
    addressId: party?.id,
    valueType: leg.valueType,
    transferType: leg.transferType,
    custodial: party?.custodial !== undefined,
    address: party?.address ?? '',
    bank: party?.bankAccount,
  }
}

/**
 * Asks the rail for a party whether it accepts an instruction.
 * @throws OutlayError the code of its refusal, or `service_unavailable`.
 */
export async function validateWithRail(
  context: ServiceContext,
  instruction: RailInstruction,
  party: string,
): Promise<void> {
  const refusal = await askRail(context, { rail: railOf(instruction.flow, instruction), party }, async (options) =>
    refusalSchema.parse((await context.rails.validate(instruction, options)) ?? undefined),
  )
  if (refusal !== undefined) throw new OutlayError(refusal.code, refusal.detail, { field: refusal.field })
}

/**
 * Asks the rail for a client for the instructions of an inbound wire; null for any other transfer.
 * @throws OutlayError `service_unavailable`.
 */
export async function findWireInstructions(
  context: ServiceContext,
  instruction: RailInstruction,
  { businessName, businessAddress }: TransferParties,
  clientId: string,
): Promise<WireInstructions | null> {
  if (!isInboundWire(instruction)) return null
  const beneficiary = { name: businessName, address: oneLine(businessAddress) }
  return await askRail(context, { rail: railOf(instruction.flow, instruction), party: clientId }, async (options) =>
    wireSchema.parse(await askFor(clientId, () => context.rails.wireInstructions(instruction, beneficiary, options))),
  )
}

/** A postal address on one line, for bank instructions. */
export function oneLine({ street_line_1, street_line_2, city, state, zip }: PostalAddress): string {
  return [street_line_1, street_line_2, city, `${state} ${zip}`].filter((part) => part !== undefined).join(', ')
}
