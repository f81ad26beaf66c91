import {
  type BankAccount,
  bankAccountTypes,
  type Catalog,
  defaultCatalog,
  type FinancialInstitution,
  type FinancialInstitutionState,
  financialInstitutionStatuses,
} from '@outlay/core'
import { readTransferTypes } from './catalog.ts'
import {
  attachRaw,
  isRecord,
  type JsonRecord,
  readChoice,
  readMember,
  readOptionalText,
  readText,
  readTimestamp,
  unreadable,
  type WithRaw,
} from './json.ts'
import { readRoutingNumber } from './payment.ts'
import { decodePostalAddress, encodePostalAddress } from './postal-address.ts'

/** Writes the body that registers a bank account. Specification: "POST …/financial-institutions/external". */
export function encodeFinancialInstitution(account: BankAccount): JsonRecord {
  return {
    owner: account.owner,
    account_number: account.accountNumber,
    routing_number: account.routingNumber,
    beneficiary_address: encodePostalAddress(account.beneficiaryAddress),
    bank_address: encodePostalAddress(account.bankAddress),
    account_type: account.accountType,
  }
}

type BankDetails = FinancialInstitution['bankDetails']

/**
 * A financial institution as the service returns it. Only the id is certain. The status is `undefined` when it is unknown, since
 * the specification shows only one value. Specification: "Financial institution".
 */
export interface ReadFinancialInstitution
  extends Pick<FinancialInstitution, 'id' | 'transferTypes'>,
    Partial<Pick<BankAccount, 'beneficiaryAddress'>> {
  readonly name: FinancialInstitution['name'] | undefined
  readonly status: FinancialInstitution['status'] | undefined
  /** The account number may be masked to its last four digits. */
  readonly bankDetails: { readonly [Member in keyof BankDetails]: BankDetails[Member] | undefined }
}

/**
 * Reads one financial institution: a linked one with its `bank_details`, or a manual one with the same members flat.
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeFinancialInstitution(
  value: unknown,
  catalog: Catalog = defaultCatalog,
): WithRaw<ReadFinancialInstitution> {
  if (!isRecord(value)) throw unreadable('', 'a financial institution')
  const nested = readMember(value, 'bank_details')
  const details = isRecord(nested) ? nested : value
  const institution: ReadFinancialInstitution = {
    id: readText(value, 'id', 'id'),
    name: readOptionalText(value, 'name'),
    status: readChoice(value, 'status', financialInstitutionStatuses),
    transferTypes: readTransferTypes(value, catalog),
    bankDetails: {
      owner: readOptionalText(details, 'owner'),
      accountNumber: readOptionalText(details, 'account_number'),
      routingNumber: readRoutingNumber(details, 'routing_number') ?? undefined,
      name: readOptionalText(details, 'name'),
      accountType: readChoice(details, 'account_type', bankAccountTypes),
      address: decodePostalAddress(details, 'address') ?? decodePostalAddress(details, 'bank_address'),
    },
    ...withBeneficiary(details),
  }
  return attachRaw(institution, value)
}

const withBeneficiary = (details: JsonRecord): Pick<ReadFinancialInstitution, 'beneficiaryAddress'> => {
  const beneficiaryAddress = decodePostalAddress(details, 'beneficiary_address')
  return beneficiaryAddress === undefined ? {} : { beneficiaryAddress }
}

/** The state of a financial institution at the service. */
export interface ReadFinancialInstitutionState
  extends Pick<FinancialInstitutionState, 'financialInstitutionId' | 'needsUpdate'> {
  /** `undefined` when it is unknown. */
  readonly status: FinancialInstitutionState['status'] | undefined
  /** ISO 8601, UTC. */
  readonly lastUpdated: string | undefined
}

/**
 * Reads the state of a financial institution. Specification: "GET …/financial-institutions/{fi_id}/status".
 *
 * @throws OutlayError `unreadable_response`, with the member
 */
export function decodeFinancialInstitutionState(
  value: unknown,
  financialInstitutionId: string,
): WithRaw<ReadFinancialInstitutionState> {
  if (!isRecord(value)) throw unreadable('', 'the state of a financial institution')
  const status = readChoice(value, 'status', financialInstitutionStatuses)
  const needsUpdate = readMember(value, 'needs_update')
  if (needsUpdate !== undefined && typeof needsUpdate !== 'boolean') throw unreadable('needs_update', 'a boolean')
  const state: ReadFinancialInstitutionState = {
    financialInstitutionId: readOptionalText(value, 'financial_institution_id') ?? financialInstitutionId,
    status,
    lastUpdated: readTimestamp(value, 'last_updated'),
    needsUpdate: needsUpdate ?? status === 'login_required',
  }
  return attachRaw(state, value)
}
