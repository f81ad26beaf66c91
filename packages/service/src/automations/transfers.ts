import { parseTransferRequest, type TransferRequest } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import type { Executor } from '../database/statement.ts'
import { book, type LedgerLine, planTransfer } from '../ledger/ledger.ts'
import type { DepositFact } from '../rails/port.ts'
import { ledgerLeg, type NewTransfer, transferWorks } from '../transfers/creation.ts'
import { newRow } from '../transfers/new-row.ts'
import { findParties, type TransferParties } from '../transfers/parties.ts'
import { newInstruction, validateWithRail } from '../transfers/rail-check.ts'
import type { AutomationRow } from './automations.ts'

/** The transfer of a deposit, to be written. */
export interface DepositTransfer extends NewTransfer {
  /** Incoming dollars to the settlement account. The mint is in the row's plan. */
  readonly receipt: readonly LedgerLine[]
}

/** What of a deposit becomes a transfer. */
export type DepositMoney = Pick<DepositFact, 'reference' | 'transferType' | 'amount' | 'details'>

/**
 * Checks and plans the transfer of a deposit without a transaction, since its rail may hang. Specification: "Automations", onramp
 * flow.
 * @throws OutlayError what `findParties` and `parseTransferRequest` throw, the code of a rail that refuses to mint, or
 *   `service_unavailable` when the rail does not answer.
 */
export async function prepareDepositTransfer(
  executor: Executor,
  context: ServiceContext,
  automation: AutomationRow,
  deposit: DepositMoney,
  transferId: string,
): Promise<DepositTransfer> {
  const { account_id: accountId, environment } = automation
  const request = requestOf(automation, deposit)
  const parties = await findParties(executor, context, accountId, environment, request)
  const instruction = {
    ...newInstruction({ id: transferId, accountId, flow: 'onramp', request, parties }),
    deposit: { reference: deposit.reference },
  }
  await validateWithRail(context, instruction, accountId)
  return planned(context, automation, deposit, { request, parties, transferId })
}

/**
 * The same for a deposit that a person credits, in that person's transaction: its rail is not asked, but may refuse to mint later.
 * @throws OutlayError what `findParties` and `parseTransferRequest` throw.
 */
export async function prepareAcceptedTransfer(
  tx: Tx,
  context: ServiceContext,
  automation: AutomationRow,
  deposit: DepositMoney,
  transferId: string,
): Promise<DepositTransfer> {
  const request = requestOf(automation, deposit)
  const parties = await findParties(tx, context, automation.account_id, automation.environment, request)
  return planned(context, automation, deposit, { request, parties, transferId })
}

function planned(
  context: ServiceContext,
  automation: AutomationRow,
  deposit: DepositMoney,
  given: { readonly request: TransferRequest; readonly parties: TransferParties; readonly transferId: string },
): DepositTransfer {
  const { request, parties, transferId } = given
  const accountId = automation.account_id
  // To the engine, every deposit is a wire, the one rail whose source has no address: the money has arrived.
  const wire = { ...request, source: { ...request.source, transferType: 'wire' } }
  const source = ledgerLeg(request.source, undefined)
  const destination = ledgerLeg(request.destination, parties.destination)
  const { post } = planTransfer({ flow: 'onramp', amount: request.amount.value, source, destination })
  const isReceipt = (line: LedgerLine) => line.value === source.valueType
  const plan = { hold: [], void: [], post: post.filter((line) => !isReceipt(line)) }
  const now = context.clock.now()
  const base = newRow({ id: transferId, accountId, flow: 'onramp', request, plan, wireInstructions: null, now })
  return {
    hold: [],
    receipt: post.filter(isReceipt),
    request: parseTransferRequest(wire, context.catalog, { samePeg: true }),
    row: {
      ...base,
      automation_id: automation.id,
      source_financial_institution_id: automation.financial_institution_id,
      source_transaction_id: deposit.reference,
      source_payment_details: deposit.details,
      reference_legs: 'destination',
    },
  }
}

/**
 * Writes the transfer of a deposit in the caller's transaction: the dollars are booked as received, the mint goes to the
 * engine. A mint that fails later leaves the dollars in the settlement account, where a person decides.
 */
export async function writeDepositTransfer(tx: Tx, context: ServiceContext, transfer: DepositTransfer): Promise<void> {
  for (const work of transferWorks(context, transfer)) await work(tx)
  await book(tx, context, transfer.row.id, 'deposit', transfer.receipt)
}

function requestOf(automation: AutomationRow, deposit: DepositMoney): TransferRequest {
  return {
    amount: deposit.amount,
    source: { valueType: automation.source_value_type, transferType: deposit.transferType },
    destination: {
      addressId: automation.destination_address_id,
      valueType: automation.destination_value_type,
      transferType: automation.destination_transfer_type,
    },
  }
}
