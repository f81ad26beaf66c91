import { Id, OutlayError, parseAutomationRequest, TransferFlow } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, run, statement } from '../database/statement.ts'
import type { Caller } from '../schema/caller.ts'
import { findBrand } from '../transfers/brands.ts'
import { findParties } from '../transfers/parties.ts'
import { oneLine } from '../transfers/rail-check.ts'
import { type AutomationResource, automationView, readAutomation } from './automations.ts'

/** Most automations of an account that are not archived: what can receive money. */
export const mostAutomations = 500

/** Most automations of an account with the archived ones, which keep their account numbers, and which the list has: a client cannot delete them. */
export const mostAutomationsEver = 2_000

/**
 * Creates an automation in the caller's transaction, in status pending. Its virtual account is opened afterwards.
 * Specification: "Automations", create.
 *
 * @throws OutlayError what `parseAutomationRequest` and `findParties` throw, `unsupported_flow` when the rails open no
 *   virtual accounts, what `findBrand` throws, and `conflict` when the
 *   account has {@link mostAutomations} that are not archived, or {@link mostAutomationsEver}.
 */
export async function createAutomation(
  tx: Tx,
  context: ServiceContext,
  caller: Caller,
  accountId: string,
  body: unknown,
): Promise<AutomationResource> {
  const request = parseAutomationRequest(body, context.catalog, { samePeg: true })
  if (context.rails.virtualAccounts === undefined) {
    throw new OutlayError('unsupported_flow', 'No bank here opens virtual accounts.', { field: 'source' })
  }
  // The deposits come by wire or ACH: no source address, and the same flow.
  const legs = {
    source: { valueType: request.source.valueType, transferType: 'wire' },
    destination: request.destination,
  }
  const parties = await findParties(tx, context, accountId, caller.environment, legs)
  TransferFlow.classify(legs, context.catalog, { destination: parties.destination.type })
  await run(tx, context, lockAccount, [accountId])
  // Behind the wait for other creates, in which a brand may be rejected.
  const beneficiary = (await findBrand(tx, context, caller.clientId, request.brand)) ?? {
    business_name: parties.businessName,
    address: parties.businessAddress,
  }
  const [row] = await run(tx, context, insertAutomation, [
    Id.generate(context.clock, context.random),
    accountId,
    caller.environment,
    request.name,
    request.source.valueType,
    request.destination.addressId,
    request.destination.valueType,
    request.destination.transferType,
    request.brand?.accountId ?? null,
    beneficiary.business_name,
    oneLine(beneficiary.address),
    Id.generate(context.clock, context.random),
    context.clock.now(),
    mostAutomations,
    mostAutomationsEver,
  ])
  if (row !== undefined) return automationView(context, row)
  throw new OutlayError('conflict', await limitMessage(tx, context, accountId))
}

/** Which of the two limits is reached, and what to do about it. */
async function limitMessage(tx: Tx, context: ServiceContext, accountId: string): Promise<string> {
  const [found] = await run(tx, context, countOpen, [accountId])
  return (found?.count ?? 0) >= mostAutomations
    ? `The account has ${mostAutomations} automations that are not archived, which is the limit. Use one of them, or archive one and send the request with a new key.`
    : `The account has ${mostAutomationsEver} automations, archived ones included, which is the limit. Change the destination of one that it has, or use another account.`
}

// The number of its automations is read after another create has committed.
const lockAccount = statement(
  'account_lock_for_automations',
  'select from {{schema}}.account where id = $1 for no key update',
)

const insertAutomation = statement(
  'automation_insert',
  `insert into {{schema}}.automation
     (id, account_id, environment, name, status, source_value_type, destination_address_id, destination_value_type,
      destination_transfer_type, brand_account_id, beneficiary_name, beneficiary_address, financial_institution_id,
      open_at, created_at, updated_at)
   select $1, $2, $3, $4, 'pending', $5, $6, $7, $8, $9, $10, $11, $12, $13::timestamptz, $13, $13
    where (select count(*) from {{schema}}.automation where account_id = $2 and status <> 'archived') < $14
      and (select count(*) from {{schema}}.automation where account_id = $2) < $15
   returning ${listOf(readAutomation)}`,
  readAutomation,
)

const countOpen = statement(
  'automation_count_open',
  `select count(*)::int as count from {{schema}}.automation where account_id = $1 and status <> 'archived'`,
  rowDecoder('automation', { count: Column.integer }),
)
