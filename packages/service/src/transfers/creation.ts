import { Id, OutlayError, parseTransferRequest, TransferFlow, type TransferRequest } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import type { PipelineWork } from '../database/pipeline.ts'
import { run, statement } from '../database/statement.ts'
import type { PlannedWrite } from '../idempotency/decision.ts'
import type { CreateInput } from '../idempotency/idempotent.ts'
import { planConversion } from '../ledger/conversions.ts'
import { type LedgerLeg, type LedgerPlan, planTransfer } from '../ledger/ledger.ts'
import { type AgreedQuote, findAgreedQuote, quoteHint, useQuote } from '../quotes/use.ts'
import { recordEvent } from '../webhooks/events.ts'
import { findBrand } from './brands.ts'
import { findExpiry } from './expiry.ts'
import { newRow } from './new-row.ts'
import { findParties, type Party, type TransferParties } from './parties.ts'
import { checkWireSource, findWireInstructions, newInstruction, validateWithRail } from './rail-check.ts'
import type { TransferRow } from './row.ts'
import { transferView } from './view.ts'

/** A transfer to be written: checked, accepted by its rail, and planned. */
export interface NewTransfer {
  readonly row: TransferRow
  readonly hold: LedgerPlan['hold']
  /** For the engine. */
  readonly request: TransferRequest
}

/**
 * Checks and plans a transfer without a transaction, since its rail may hang, and resolves with its write: the engine's job, the event
 * `transfer.created`, the transfer and the hold on its money commit together or not at all. Specification: "Transfers", create.
 *
 * @throws OutlayError what `parseTransferRequest`, `checkWireSource`, `findParties`, `TransferFlow.classify` and `findBrand` throw, then
 *   `invalid_account_number` and the like from the rail, `service_unavailable` when the rail does not answer, and from the
 *   write `insufficient_balance`. With a quote what `findAgreedQuote` and `useQuote`
 *   throw.
 */
export async function createTransfer(
  context: ServiceContext,
  { body, caller, accountId, reads }: CreateInput,
): Promise<PlannedWrite> {
  const request = parseTransferRequest(body, context.catalog, { samePeg: true, pegHint: quoteHint(context) })
  checkWireSource(context, request)
  const parties = await findParties(reads, context, accountId, caller.environment, request)
  const quote = await findAgreedQuote(reads, context, accountId, request)
  const { source, destination } = parties
  const flow = TransferFlow.classify(request, context.catalog, { source: source?.type, destination: destination.type })
  const brand = await findBrand(reads, context, caller.clientId, request.brand)
  const id = Id.generate(context.clock, context.random)
  const instruction = newInstruction({ id, accountId, flow, request, parties, brand, quote })
  await validateWithRail(context, instruction, caller.clientId)
  const wireInstructions = await findWireInstructions(context, instruction, parties, caller.clientId)
  const plan = planOf(flow, request, parties, quote)
  const now = context.clock.now()
  const expiresAt = findExpiry(context, flow, request, now)
  const row = newRow({ id, accountId, flow, request, plan, wireInstructions, expiresAt, quote, now })
  const transfer = { row, hold: plan.hold, request }
  return { resource: transferView(row), works: transferWorks(context, transfer) }
}

function planOf(
  flow: TransferFlow,
  request: TransferRequest,
  parties: TransferParties,
  quote: AgreedQuote | undefined,
): LedgerPlan {
  const source = ledgerLeg(request.source, parties.source)
  const destination = ledgerLeg(request.destination, parties.destination)
  if (quote === undefined) return planTransfer({ flow, amount: request.amount.value, source, destination })
  const { sourceAmount, destinationAmount } = quote
  const amounts = { sourceAmount: sourceAmount.value, destinationAmount: destinationAmount.value }
  return planConversion({ source, destination, ...amounts })
}

/**
 * The works that write a transfer, in order: its event, the engine's job, the use of its quote, and the transfer with its hold. The hold is
 * last because it locks the wallet until the commit, but for the expiry of the quote, which is compared behind the wait for the wallet.
 */
export function transferWorks(context: ServiceContext, transfer: NewTransfer): readonly PipelineWork[] {
  const { row, request } = transfer
  const { id, account_id: accountId, quote } = row
  const use = quote === null ? undefined : useQuote(context, row, quote.id)
  return [
    (tx) => recordEvent(tx, context, { accountId, type: 'transfer.created', data: transferView(row) }),
    (tx) => context.engine.transfers.enqueue(tx, { ...request, id, accountId, idempotencyKey: id }),
    ...(use === undefined ? [] : [use.claim]),
    (tx) => writeTransfer(tx, context, transfer),
    ...(use === undefined ? [] : [use.confirm]),
  ]
}

/**
 * Writes a transfer and the hold. Fails as a conflict of two transactions does when the account or an address has become unusable
 * since the parties were read.
 * @throws OutlayError `insufficient_balance`.
 */
async function writeTransfer(tx: Tx, context: ServiceContext, { row, hold }: NewTransfer): Promise<void> {
  try {
    await run(tx, context, insertTransfer, [JSON.stringify(row), JSON.stringify(hold)])
  } catch (error) {
    const { constraint } = error as { constraint?: unknown }
    if (constraint === 'receivable_blocks_sends') {
      const message = 'Money came back that the account had spent; it sends again when it has paid what it owes.'
      throw new OutlayError('insufficient_balance', message, { field: 'amount.value' })
    }
    if (constraint !== 'ledger_hold_covered') throw error
    const needed = row.quote?.sourceAmount.value ?? row.amount_value
    const message = `The wallet does not have ${needed} ${row.source_value_type} on ${row.source_transfer_type} available.`
    throw new OutlayError('insufficient_balance', message, { field: 'amount.value' })
  }
}

/** One end of a transfer in the ledger. */
export function ledgerLeg(
  leg: { readonly valueType: string; readonly transferType: string },
  party: Party | undefined,
): LedgerLeg {
  return { valueType: leg.valueType, transferType: leg.transferType, custodial: party?.custodial }
}

const insertTransfer = statement('transfer_hold', 'select {{schema}}.transfer_hold($1::jsonb, $2::jsonb)')
