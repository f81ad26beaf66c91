import type { AutomationStatus } from '@outlay/core'
import { Column, type RowDecoder, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, listOf, run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'
import { instructionsView, type WireInstructionsResource } from '../transfers/view.ts'

/** An automation as the API returns it. Specification: "Automation". */
export interface AutomationResource {
  readonly id: string
  readonly name: string
  readonly status: AutomationStatus
  readonly source: {
    readonly value_type: string
    readonly transfer_type: null
    /** Null until the automation is active. */
    readonly funding_instructions: WireInstructionsResource | null
  }
  readonly destination: {
    readonly address_id: string
    readonly value_type: string
    readonly transfer_type: string
  }
  /** The same as `destination`. */
  readonly destination_address: AutomationResource['destination']
  /** Only in the public dialect. */
  readonly brand?: { readonly account_id: string }
  readonly created_at: string
  readonly updated_at: string
}

/** A row of the table `automation`. */
export interface AutomationRow {
  readonly id: string
  readonly account_id: string
  readonly environment: Environment
  readonly name: string
  readonly status: AutomationStatus
  readonly source_value_type: string
  readonly destination_address_id: string
  readonly destination_value_type: string
  readonly destination_transfer_type: string
  readonly brand_account_id: string | null
  readonly beneficiary_name: string
  readonly beneficiary_address: string
  /** The virtual account, for the sources of the transfers. */
  readonly financial_institution_id: string
  readonly bank_name: string | null
  readonly bank_address: string | null
  readonly routing_number: string | null
  /** Sealed. */
  readonly account_number: string | null
  readonly memo: string | null
  readonly created_at: Date
  readonly updated_at: Date
}

/** Reads a row of the table `automation`. */
export const readAutomation: RowDecoder<AutomationRow> = rowDecoder('automation', {
  id: Column.text,
  account_id: Column.text,
  environment: Column.word<Environment>(),
  name: Column.text,
  status: Column.word<AutomationStatus>(),
  source_value_type: Column.text,
  destination_address_id: Column.text,
  destination_value_type: Column.text,
  destination_transfer_type: Column.text,
  brand_account_id: Column.nullable(Column.text),
  beneficiary_name: Column.text,
  beneficiary_address: Column.text,
  financial_institution_id: Column.text,
  bank_name: Column.nullable(Column.text),
  bank_address: Column.nullable(Column.text),
  routing_number: Column.nullable(Column.text),
  account_number: Column.nullable(Column.text),
  memo: Column.nullable(Column.text),
  created_at: Column.date,
  updated_at: Column.date,
})

/** Says that the account number of an automation cannot be read. */
export type ReportUnreadable = (automationId: string, error: unknown) => void

/**
 * Writes an automation as the API returns it. One whose account number no key opens has no funding instructions, so that it neither hides other
 * ones nor the answer to a change; by default the log has it.
 */
export function automationView(
  context: Pick<ServiceContext, 'secrets' | 'dialect' | 'logger'>,
  row: AutomationRow,
  report: ReportUnreadable = (automationId, error) => logUnreadable(context, { automationId }, error),
): AutomationResource {
  const destination = {
    address_id: row.destination_address_id,
    value_type: row.destination_value_type,
    transfer_type: row.destination_transfer_type,
  }
  const brand = context.dialect === 'public' ? row.brand_account_id : null
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    source: {
      value_type: row.source_value_type,
      transfer_type: null,
      funding_instructions: fundingInstructions(context, row, report),
    },
    destination,
    destination_address: destination,
    ...(brand === null ? {} : { brand: { account_id: brand } }),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

/** Logs which automations cannot be read. The message of the error can quote what is stored, so only its name is logged. */
export function logUnreadable(
  { logger }: Pick<ServiceContext, 'logger'>,
  which: { readonly automationId: string; readonly accountId?: string; readonly count?: number },
  error: unknown,
): void {
  logger.warn(
    { ...which, error: error instanceof Error ? error.name : typeof error },
    'The account number of an automation cannot be read, so it is shown without funding instructions. Give encryptionKey all the keys that have sealed bank accounts.',
  )
}

function fundingInstructions(
  context: Pick<ServiceContext, 'secrets'>,
  row: AutomationRow,
  report: ReportUnreadable,
): WireInstructionsResource | null {
  const accountNumber = openNumber(context, row, report)
  if (accountNumber === undefined) return null
  return instructionsView({
    beneficiaryName: row.beneficiary_name,
    beneficiaryAddress: row.beneficiary_address,
    bankName: row.bank_name ?? '',
    bankAddress: row.bank_address ?? '',
    accountNumber,
    routingNumber: row.routing_number ?? '',
    memo: row.memo,
  })
}

/** `undefined` for one that is not open yet, and for a number that cannot be read. */
function openNumber(
  context: Pick<ServiceContext, 'secrets'>,
  row: AutomationRow,
  report: ReportUnreadable,
): string | undefined {
  if (row.account_number === null) return undefined
  try {
    return context.secrets.open(row.account_number, virtualAccountPlace(row.id))
  } catch (error) {
    report(row.id, error)
    return undefined
  }
}

/** Place of the sealed account number of an automation. */
export function virtualAccountPlace(automationId: string) {
  return { table: 'automation', column: 'account_number', row: automationId }
}

/** The keyed digest by which a virtual account is found. */
export function virtualAccountIndex(
  context: Pick<ServiceContext, 'secrets'>,
  account: { readonly routingNumber: string; readonly accountNumber: string },
): string {
  return context.secrets.mac('automation.account_number', `${account.routingNumber}/${account.accountNumber}`)
}

/** One automation of an account; `undefined` for an unknown id and for one of another account. */
export async function findAutomation(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  accountId: string,
  automationId: string,
): Promise<AutomationRow | undefined> {
  const [row] = await run(executor, context, selectAutomation, [accountId, automationId])
  return row
}

/** The account that an automation belongs to; `undefined` for an unknown id. */
export async function findAccountOfAutomation(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  automationId: string,
): Promise<string | undefined> {
  const [row] = await run(executor, context, selectAccountId, [automationId])
  return row?.accountId
}

/** Automations of an account behind an id, newest first, including archived ones. */
export function listAutomations(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  accountId: string,
  { position, limit }: { readonly position: string; readonly limit: number },
): Promise<readonly AutomationRow[]> {
  return run(executor, context, selectAutomations, [accountId, position, limit])
}

const selectAutomation = statement(
  'automation_select',
  `select ${listOf(readAutomation)} from {{schema}}.automation where account_id = $1 and id = $2`,
  readAutomation,
)

const selectAccountId = statement(
  'automation_account',
  'select account_id from {{schema}}.automation where id = $1',
  rowDecoder('automation', { accountId: Column.text }),
)

const selectAutomations = statement(
  'automation_list',
  `select ${listOf(readAutomation)} from {{schema}}.automation
    where account_id = $1 and id < $2
    order by id desc
    limit $3`,
  readAutomation,
)
