import { loginRequiredEventType } from '@outlay/core'
import { inWorkerTransaction, type ServiceContext, type Tx } from '../context.ts'
import { afterConflicts } from '../database/conflict.ts'
import { run, statement } from '../database/statement.ts'
import {
  type InstitutionRow,
  institutionColumns,
  readInstitution,
  stateOf,
} from '../financial-institutions/financial-institutions.ts'
import { recordEvent } from '../webhooks/events.ts'
import { recordNotice } from '../webhooks/notices.ts'
import { findNoticeRegistration } from './items.ts'

/** A report of a bank-linking provider about an item. */
export interface LoginRequiredReport {
  /** The provider's id of the item. */
  readonly itemId: string
  /** Why, for a person. */
  readonly reason: string
}

/**
 * Accepts a report that the owner of a linked item has to log in again. For each of its financial institutions, in one
 * transaction: ACH debits are refused from now on, the event `financial_institution.login_required` is recorded, and the notice is
 * sent to the `customer_webhook_url`. A repeated report changes nothing. Specification: "Events". It rejects, and changes nothing, where another
 * transaction keeps what it needs for longer than a second: the provider reports it again.
 *
 * @returns how many financial institutions need a login because of this report.
 */
export async function reportLoginRequired(context: ServiceContext, report: LoginRequiredReport): Promise<number> {
  return await afterConflicts(() => inWorkerTransaction(context, (tx) => applyReport(tx, context, report)))
}

async function applyReport(tx: Tx, context: ServiceContext, report: LoginRequiredReport): Promise<number> {
  const registrationId = await findNoticeRegistration(tx, context, report.itemId)
  if (registrationId === undefined) return 0
  const now = context.clock.now()
  await run(tx, context, lockLinked, [report.itemId])
  const rows = await run(tx, context, requireLogin, [report.itemId, now])
  for (const row of rows)
    if (row.status !== 'archived') await recordLoginRequired(tx, context, row, registrationId, report.reason)
  return rows.length
}

async function recordLoginRequired(
  tx: Tx,
  context: ServiceContext,
  row: InstitutionRow,
  registrationId: string | null,
  reason: string,
): Promise<void> {
  const accountId = row.accountId
  const data = { ...stateOf(row), reason }
  await recordEvent(tx, context, { accountId, type: 'financial_institution.login_required', data })
  if (registrationId === null) return
  const notice = {
    reason,
    timestamp: row.updatedAt,
    event_type: loginRequiredEventType,
    financial_institution_id: row.id,
  }
  await recordNotice(tx, context, { accountId, registrationId, type: loginRequiredEventType, body: notice })
}

/** Locks the addresses of an item in the order in which everything that changes several of them does. */
const lockLinked = statement(
  'address_lock_linked',
  'select from {{schema}}.address where bank_link_item_id = $1 order by id for no key update',
)

const requireLogin = statement(
  'address_update_login_required',
  `update {{schema}}.address
      set bank_login_required_at = $2, updated_at = $2
    where bank_link_item_id = $1 and bank_login_required_at is null
   returning ${institutionColumns}`,
  readInstitution,
)
