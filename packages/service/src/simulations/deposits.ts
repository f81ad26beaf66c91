import { Amount, OutlayError } from '@outlay/core'
import { findAccountOfAutomation } from '../automations/automations.ts'
import { findDeposit } from '../automations/deposits.ts'
import { notFound } from '../clients/authenticate.ts'
import { isAccountOfClient } from '../clients/clients.ts'
import type { ServiceContext } from '../context.ts'
import { asClient } from '../database/tenant.ts'
import type { ServiceRequest } from '../http/request.ts'
import type { DepositFact } from '../rails/port.ts'
import type { RailSimulation } from '../rails/simulated/simulated-rails.ts'
import type { Caller } from '../schema/caller.ts'
import { amountOf, type Body, optionalText, readReference } from './input.ts'

/**
 * Simulates a payment to the virtual account of an automation and returns its result: `credited` with the id of the transfer,
 * `returned` with a reason, or `pending` until a process has accepted it. A repeat of a reference changes nothing and returns the
 * same result.
 *
 * @throws OutlayError `not_found` for an automation of another client, the codes of an amount, `amount_not_positive`, `conflict` for a
 *   reference that another amount has.
 */
export async function receiveDeposit(
  c: ServiceRequest,
  context: ServiceContext,
  simulation: RailSimulation,
  deposit: {
    readonly caller: Caller
    readonly automationId: string
    readonly body: Body
    readonly transferType: DepositFact['transferType']
  },
): Promise<Response> {
  const { caller, automationId, body, transferType } = deposit
  const client = asClient(context, caller.clientId)
  const accountId = await findAccountOfAutomation(client, context, automationId)
  if (accountId === undefined || !(await isAccountOfClient(client, context, caller.clientId, accountId))) {
    throw notFound('virtual account')
  }
  const reference = await simulation.receiveDeposit({
    automationId,
    transferType,
    amount: dollarsOf(body),
    reference: readReference(body),
    senderName: optionalText(body, 'sender_name'),
    senderBankName: optionalText(body, 'sender_bank_name'),
  })
  const found = await findDeposit(client, context, { transferType, reference })
  const outcome = found?.transfer_id == null ? 'returned' : 'credited'
  const answer = {
    automation_id: automationId,
    account_id: accountId,
    transfer_type: transferType,
    bank_reference: reference,
    status: found === undefined ? 'pending' : outcome,
    transfer_id: found?.transfer_id ?? null,
    return_reason: found?.return_reason ?? null,
  }
  return c.json(answer, 202)
}

/** The reference of a chain for one that a client has made up: unique among those of its account, whatever others make up. */
export const referenceAt = (accountId: string, reference: string): string => `${accountId}/${reference}`

/** The amount of a request in US dollars. */
export function dollarsOf(body: Body): string {
  const amount = Amount.parse({ value: amountOf(body['amount']), currency: 'USD' }, { scale: 2 })
  if (Amount.isPositive(amount)) return amount.value
  throw new OutlayError('amount_not_positive', 'A deposit must be more than zero.', { field: 'amount.value' })
}
