import { Amount, OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { findAccountOfAutomation } from '../automations/automations.ts'
import { findDeposit } from '../automations/deposits.ts'
import { notFound } from '../clients/authenticate.ts'
import { isAccountOfClient } from '../clients/clients.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { afterCommit } from '../database/after-commit.ts'
import { run, statement } from '../database/statement.ts'
import { asClient } from '../database/tenant.ts'
import type { ServiceRequest } from '../http/request.ts'
import { type Deposit, deposit, type NewDeposit } from '../ledger/deposits.ts'
import { recordFact } from '../rail-facts/rail-facts.ts'
import { reportExceptions } from '../rail-facts/reporting.ts'
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

/**
 * Books a deposit that a client simulates, in its transaction. Of the deposits that reuse a reference for something else, the first is stored as
 * an exception: a chain would report each of them once, and a client may make up any number.
 * @throws OutlayError as `deposit` does.
 */
export async function bookDeposit(tx: Tx, context: ServiceContext, given: NewDeposit): Promise<Deposit> {
  const { accountId, addressId, reference } = given
  const rail = context.catalog.transferType(given.transferType)?.name
  const valueType = context.catalog.valueType(given.valueType)
  if (rail === undefined || valueType === undefined) return await deposit(tx, context, given)
  const [booked] = await run(tx, context, selectBooked, [rail, reference])
  if (booked === undefined) return await deposit(tx, context, given)
  const amount = Amount.parse({ value: given.amount, currency: valueType.name }, { scale: valueType.scale })
  const isSame = booked.addressId === addressId && Amount.equals(amount, { ...booked })
  if (isSame) return await deposit(tx, context, given)
  const identity = { reused: [rail, reference] }
  const fact = { kind: 'deposit', rail, reference, accountId, amount, payload: { addressId }, identity } as const
  const { id, isNew } = await recordFact(tx, context, fact)
  const exception = { id, kind: 'deposit', rail, reason: 'reference_reused' } as const
  if (isNew) afterCommit(tx, () => reportExceptions(context, [exception]))
  return { ...given, id, outcome: 'exception' }
}

const selectBooked = statement(
  'simulated_deposit_booked',
  `select amount_value as value, amount_currency as currency, payload ->> 'addressId' as address_id
     from {{schema}}.rail_fact
    where kind = 'deposit' and exception_reason is null and rail = $1 and reference = $2`,
  rowDecoder('deposit', { value: Column.text, currency: Column.text, addressId: Column.text }),
)

/** The reference of a chain for one that a client has made up: unique among those of its account, whatever others make up. */
export const referenceAt = (accountId: string, reference: string): string => `${accountId}/${reference}`

/** The amount of a request in US dollars. */
export function dollarsOf(body: Body): string {
  const amount = Amount.parse({ value: amountOf(body['amount']), currency: 'USD' }, { scale: 2 })
  if (Amount.isPositive(amount)) return amount.value
  throw new OutlayError('amount_not_positive', 'A deposit must be more than zero.', { field: 'amount.value' })
}
