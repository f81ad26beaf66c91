import { BankAccount, FinancialInstitution, type FinancialInstitutionStatus } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { type AddressRow, addressColumns, type PostalAddress, readAddress } from '../addresses/addresses.ts'
import { createExternalAddress } from '../addresses/external.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'

/** A bank address in its older form, as the API returns it. Specification: "Financial institution". */
export interface FinancialInstitutionResource {
  readonly id: string
  readonly name: string
  readonly status: FinancialInstitutionStatus
  /** Canonical names. */
  readonly transfer_type: readonly string[]
  readonly bank_details: {
    readonly owner: string
    /** `****` and the last four digits. */
    readonly account_number: string
    /** Nine digits. */
    readonly routing_number: string
    /** Name of the bank; the name of the account if the bank's is unknown. */
    readonly name: string
    readonly account_type: string
    /** Of the bank; the same as `bank_address`. Absent where it was not given, since only wires need it. */
    readonly address?: PostalAddress
    readonly bank_address?: PostalAddress
    readonly beneficiary_address?: PostalAddress
  }
}

/** The state of a financial institution, as the API returns it. */
export interface FinancialInstitutionStateResource {
  readonly status: FinancialInstitutionStatus
  readonly last_updated: string
  readonly financial_institution_id: string
  readonly needs_update: boolean
}

/** Transfer types of a bank account that is entered in the older form. */
const manualTransferTypes = ['ach_debit', 'ach_credit', 'wire', 'rtp'] as const

/**
 * Registers a bank account in the older form, in the caller's transaction: an external address with the rails of US banks,
 * named after its owner unless the body has a name. Specification: "POST …/financial-institutions/external".
 * @throws OutlayError what `parseExternalAddress` throws for a bank account.
 */
export async function createFinancialInstitution(
  tx: Tx,
  context: ServiceContext,
  owner: { readonly accountId: string; readonly environment: Environment },
  body: Readonly<Record<string, unknown>>,
): Promise<FinancialInstitutionResource> {
  const { id } = await createExternalAddress(tx, context, owner, addressOfOlderForm(body))
  const created = await findFinancialInstitution(tx, context, owner.accountId, id)
  if (created === undefined) throw new Error('The financial institution was not written.')
  return created
}

/** The older form has no rails, and its routing number may be a number. */
function addressOfOlderForm(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { owner, name, routing_number: routingNumber } = body
  return {
    owner,
    name: name ?? (typeof owner === 'string' && owner.trim() !== '' ? owner : 'Bank account'),
    account_number: body['account_number'],
    routing_number: typeof routingNumber === 'number' ? BankAccount.readRoutingNumber(routingNumber) : routingNumber,
    account_type: body['account_type'] ?? null,
    bank_address: body['bank_address'],
    beneficiary_address: body['beneficiary_address'],
    transfer_types: manualTransferTypes,
  }
}

/** Reads the financial institutions of an account, oldest first. */
export async function listFinancialInstitutions(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
): Promise<readonly FinancialInstitutionResource[]> {
  return (await run(executor, context, selectInstitutions, [accountId])).map(institutionOf)
}

/** One financial institution; `undefined` for an unknown id, one of another account, and a wallet. */
export async function findFinancialInstitution(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  id: string,
): Promise<FinancialInstitutionResource | undefined> {
  const [row] = await run(executor, context, selectInstitution, [accountId, id])
  return row === undefined ? undefined : institutionOf(row)
}

/** The state of a financial institution; `undefined` as for {@link findFinancialInstitution}. */
export async function findFinancialInstitutionState(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  id: string,
): Promise<FinancialInstitutionStateResource | undefined> {
  const [row] = await run(executor, context, selectInstitution, [accountId, id])
  return row === undefined ? undefined : stateOf(row)
}

/** A bank address with what the older form shows besides. */
export interface InstitutionRow extends AddressRow {
  readonly bankName: string | null
}

/** Reads a bank address with the columns of the older form. */
export function readInstitution(row: Row): InstitutionRow {
  return { ...readAddress(row), ...readOlderForm(row) }
}

const readOlderForm = rowDecoder('address', { bankName: Column.nullable(Column.text) })

/** What a statement selects of the addresses for {@link readInstitution}. */
export const institutionColumns = `${addressColumns}, bank_name`

/** The state of the bank address of a row. */
export function stateOf(row: InstitutionRow): FinancialInstitutionStateResource {
  const status = statusOf(row)
  return {
    status,
    last_updated: row.updatedAt,
    financial_institution_id: row.id,
    needs_update: FinancialInstitution.needsUpdate(status),
  }
}

function statusOf(row: InstitutionRow): FinancialInstitutionStatus {
  if (row.status === 'archived') return 'archived'
  return row.bankLoginRequiredAt === null ? 'active' : 'login_required'
}

function institutionOf(row: InstitutionRow): FinancialInstitutionResource {
  const { bank } = row
  if (bank === undefined) throw new Error('A bank address has no bank account.')
  const { bankAddress, beneficiaryAddress } = bank
  return {
    id: row.id,
    name: row.name,
    status: statusOf(row),
    transfer_type: row.transferTypes,
    bank_details: {
      owner: bank.owner,
      account_number: `****${bank.accountNumberLast4}`,
      routing_number: bank.routingNumber,
      name: row.bankName ?? row.name,
      account_type: bank.accountType,
      ...(bankAddress === undefined ? {} : { address: bankAddress, bank_address: bankAddress }),
      ...(beneficiaryAddress === undefined ? {} : { beneficiary_address: beneficiaryAddress }),
    },
  }
}

// A CLABE has no routing number, which the older form requires.
const isInstitution = `account_id = $1 and kind = 'bank' and bank_routing_number <> ''`

const selectInstitutions = statement(
  'financial_institution_list',
  `select ${institutionColumns} from {{schema}}.address where ${isInstitution} order by id`,
  readInstitution,
)

const selectInstitution = statement(
  'financial_institution_select',
  `select ${institutionColumns} from {{schema}}.address where ${isInstitution} and id = $2`,
  readInstitution,
)
