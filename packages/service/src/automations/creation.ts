import { Id, OutlayError, parseAutomationRequest, TransferFlow } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { listOf, run, statement } from '../database/statement.ts'
import type { Caller } from '../schema/caller.ts'
import { findBrand } from '../transfers/brands.ts'
import { findParties } from '../transfers/parties.ts'
import { oneLine } from '../transfers/rail-check.ts'
import { type AutomationResource, automationView, readAutomation } from './automations.ts'

/** Most automations of an account. Archived ones count, since they keep their account numbers, and since the list has them. */
export const mostAutomations = 500

/**
 * Creates an automation in the caller's transaction, in status pending. Its virtual account is opened afterwards.
 * Specification: "Automations", create.
 *
 * @throws OutlayError what `parseAutomationRequest` and `findParties` throw, `unsupported_flow` when the rails open no
 *   virtual accounts, what `findBrand` throws, and `conflict` when the
 *   account has {@link mostAutomations}.
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
  const beneficiary = (await findBrand(tx, context, caller.clientId, request.brand)) ?? {
    business_name: parties.businessName,
    address: parties.businessAddress,
  }
  await run(tx, context, lockAccount, [accountId])
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
  ])
  if (row !== undefined) return automationView(context, row)
  const message = `The account has ${mostAutomations} automations, archived ones included, which is the limit. Use one that it has.`
  throw new OutlayError('conflict', message)
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
    where (select count(*) from {{schema}}.automation where account_id = $2) < $14
   returning ${listOf(readAutomation)}`,
  readAutomation,
)
