import {
  Id,
  OutlayError,
  parseTransferRequest,
  TransferFlow,
  type TransferRequest,
  type WireInstructions,
} from '@outlay/core'
import type { PostalAddress } from '../addresses/addresses.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { type LedgerLeg, type LedgerPlan, planTransfer, readLedgerAnswer } from '../ledger/ledger.ts'
import type { RailInstruction, RailLeg } from '../rails/port.ts'
import type { Caller } from '../schema/caller.ts'
import { recordEvent } from '../webhooks/events.ts'
import { findBrand } from './brands.ts'
import { findParties, type Party, type TransferParties } from './parties.ts'
import type { TransferRow } from './row.ts'
import { type TransferResource, transferView } from './view.ts'

/**
 * Creates a transfer in the caller's transaction: the engine's job, the event `transfer.created`, the transfer and the
 * hold on its money commit together or not at all. Specification: "Transfers", create. The hold locks the wallet until the
 * commit, so `runLast` runs it.
 *
 * @throws OutlayError what `parseTransferRequest`, `TransferFlow.classify` and `findParties` throw, then `invalid_id` for
 *   a foreign brand, `invalid_account_number` and the like from the rail, and `insufficient_balance` last.
 */
export async function createTransfer(
  tx: Tx,
  context: ServiceContext,
  caller: Caller,
  accountId: string,
  body: unknown,
  runLast: (run: () => Promise<void>) => void,
): Promise<TransferResource> {
  const request = parseTransferRequest(body, context.catalog)
  const parties = await findParties(tx, context, accountId, caller.environment, request)
  const { source, destination } = parties
  const flow = TransferFlow.classify(request, context.catalog, { source: source?.type, destination: destination.type })
  const brand = await findBrand(tx, context, caller.clientId, request.brand)
  const id = Id.generate(context.clock, context.random)
  const instruction = instructionOf(id, accountId, flow, request, parties, brand)
  const refusal = await context.rails.validate(instruction)
  if (refusal !== undefined) throw new OutlayError(refusal.code, refusal.detail, { field: refusal.field })
  const wireInstructions = await wireInstructionsOf(tx, context, instruction, parties)
  const plan = planTransfer({
    flow,
    amount: request.amount.value,
    source: ledgerLeg(request.source, source),
    destination: ledgerLeg(request.destination, destination),
  })
  const row = newRow({ id, accountId, flow, request, plan, wireInstructions, now: context.clock.now() })
  const resource = await announceTransfer(tx, context, row, request)
  runLast(() => holdAndWrite(tx, context, row, plan.hold))
  return resource
}

/**
 * Writes a transfer in the caller's transaction: its event, the engine's job for `request`, the row, and the hold.
 * @throws OutlayError `insufficient_balance`.
 */
export async function writeTransfer(
  tx: Tx,
  context: ServiceContext,
  transfer: { readonly row: TransferRow; readonly hold: LedgerPlan['hold']; readonly request: TransferRequest },
): Promise<TransferResource> {
  const { row, hold, request } = transfer
  const resource = await announceTransfer(tx, context, row, request)
  // Last, because it locks the wallet until the commit.
  await holdAndWrite(tx, context, row, hold)
  return resource
}

/** Writes the event of a transfer, and the engine's job. */
async function announceTransfer(
  tx: Tx,
  context: ServiceContext,
  row: TransferRow,
  request: TransferRequest,
): Promise<TransferResource> {
  const { id, account_id: accountId } = row
  const resource = transferView(row)
  await recordEvent(tx, context, { accountId, type: 'transfer.created', data: resource })
  await context.engine.transfers.enqueue(tx, { ...request, id, accountId, idempotencyKey: id })
  return resource
}

/** The rail's instruction for a new transfer. */
export function instructionOf(
  transferId: string,
  accountId: string,
  flow: RailInstruction['flow'],
  request: TransferRequest,
  { source, destination, businessName }: TransferParties,
  brand?: { readonly business_name: string },
): RailInstruction {
  return {
    transferId,
    accountId,
    flow,
    amount: request.amount,
    source: railLeg(request.source, source),
    destination: railLeg(request.destination, destination),
    wireMemo: request.destination.wireMemo,
    brandAccountId: request.brand?.accountId,
    statementName: brand?.business_name ?? businessName,
  }
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

/** One end of a transfer in the ledger. */
export function ledgerLeg(
  leg: { readonly valueType: string; readonly transferType: string },
  party: Party | undefined,
): LedgerLeg {
  return { valueType: leg.valueType, transferType: leg.transferType, custodial: party?.custodial }
}

async function wireInstructionsOf(
  tx: Tx,
  context: ServiceContext,
  instruction: RailInstruction,
  parties: TransferParties,
): Promise<WireInstructions | null> {
  if (instruction.flow !== 'onramp' || context.catalog.transferType(instruction.source.transferType)?.wire !== true) {
    return null
  }
  const beneficiary = { name: parties.businessName, address: oneLine(parties.businessAddress) }
  return await context.rails.wireInstructions(instruction, tx, beneficiary)
}

/** A postal address on one line, for bank instructions. */
export function oneLine({ street_line_1, street_line_2, city, state, zip }: PostalAddress): string {
  return [street_line_1, street_line_2, city, `${state} ${zip}`].filter((part) => part !== undefined).join(', ')
}

/** Which legs carry the rail's reference as their transaction id. An incoming wire has its own. */
function referenceLegs(flow: RailInstruction['flow'], isWire: boolean): TransferRow['reference_legs'] {
  if (flow === 'swap' || flow === 'payout') return 'both'
  if (flow === 'offramp') return 'destination'
  return isWire ? 'none' : 'source'
}

/** The row of a new transfer: pending, without data from the rails. */
export function newRow(transfer: {
  readonly id: string
  readonly accountId: string
  readonly flow: RailInstruction['flow']
  readonly request: TransferRequest
  readonly plan: LedgerPlan
  readonly wireInstructions: WireInstructions | null
  readonly now: Date
}): TransferRow {
  const { id, accountId, flow, request, plan, wireInstructions, now } = transfer
  const { amount, source, destination } = request
  return {
    id,
    account_id: accountId,
    status: 'pending',
    failure: null,
    flow,
    amount_value: amount.value,
    amount_currency: amount.currency,
    source_address_id: source.addressId ?? null,
    source_financial_institution_id: null,
    source_value_type: source.valueType,
    source_transfer_type: source.transferType,
    source_transaction_id: null,
    source_payment_details: null,
    destination_address_id: destination.addressId,
    destination_value_type: destination.valueType,
    destination_transfer_type: destination.transferType,
    destination_transaction_id: null,
    destination_payment_details: null,
    wire_memo: destination.wireMemo ?? null,
    wire_instructions: wireInstructions,
    brand_account_id: request.brand?.accountId ?? null,
    automation_id: null,
    note: request.note ?? null,
    plan: { post: plan.post, void: plan.void },
    reference_legs: referenceLegs(flow, wireInstructions !== null),
    reference: null,
    created_at: now,
    updated_at: now,
  }
}

async function holdAndWrite(
  tx: Tx,
  context: ServiceContext,
  row: TransferRow,
  hold: LedgerPlan['hold'],
): Promise<void> {
  const values = [JSON.stringify(row), JSON.stringify(hold)]
  const [written] = await run(tx, context, insertTransfer, values)
  if (written?.answer === 'applied') return
  if (written?.answer !== 'insufficient') throw new Error('The ledger already has a hold of the new transfer.')
  const message = `The wallet does not have ${row.amount_value} ${row.source_value_type} on ${row.source_transfer_type} available.`
  throw new OutlayError('insufficient_balance', message, { field: 'amount.value' })
}

const insertTransfer = statement(
  'transfer_create',
  'select {{schema}}.transfer_create($1::jsonb, $2::jsonb) as answer',
  readLedgerAnswer,
)
