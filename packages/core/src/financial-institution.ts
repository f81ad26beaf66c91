import type { AddressRecord } from './address.ts'
import type { BankAccountType } from './bank-account.ts'
import type { PostalAddress } from './postal-address.ts'
import type { TransferTypeName } from './transfer-type.ts'

/** Statuses of a financial institution; `login_required` until its owner links it again. */
export const financialInstitutionStatuses = ['active', 'login_required', 'archived'] as const

/** Status of a financial institution. */
export type FinancialInstitutionStatus = (typeof financialInstitutionStatuses)[number]

/** A bank account in its older form. Specification: "Financial institution (legacy)". */
export interface FinancialInstitution {
  readonly id: string
  readonly name: string
  readonly status: FinancialInstitutionStatus
  /** Canonical names. */
  readonly transferTypes: readonly TransferTypeName[]
  readonly bankDetails: {
    readonly owner: string
    /** Masked: `****` and the last four digits. */
    readonly accountNumber: string
    /** Nine digits. */
    readonly routingNumber: string
    /** Name of the bank. */
    readonly name: string
    readonly accountType: BankAccountType
    readonly address: PostalAddress
  }
}

/** The status of a financial institution. Specification: "GET …/financial-institutions/{fi_id}/status". */
export interface FinancialInstitutionState {
  readonly financialInstitutionId: string
  readonly status: FinancialInstitutionStatus
  /** ISO 8601, UTC. */
  readonly lastUpdated: string
  /** True when the owner has to go through the provider's flow again. */
  readonly needsUpdate: boolean
}

const statusOf = ({ status }: AddressRecord, loginRequired: boolean): FinancialInstitutionStatus => {
  if (status === 'archived') return 'archived'
  return loginRequired ? 'login_required' : 'active'
}

const ofAddress = (record: AddressRecord, loginRequired = false): FinancialInstitution | undefined => {
  const { owner, accountNumber, routingNumber, accountType, bankAddress } = record
  if (owner === undefined || accountNumber === undefined || routingNumber === undefined) return undefined
  if (accountType === undefined || bankAddress === undefined) return undefined
  return {
    id: record.id,
    name: record.name,
    status: statusOf(record, loginRequired),
    transferTypes: record.transferTypes,
    bankDetails: { owner, accountNumber, routingNumber, name: record.name, accountType, address: bankAddress },
  }
}

/** The older view of bank addresses. */
export const FinancialInstitution = {
  /** The financial institution that a bank address is; `undefined` for a wallet, or without a routing number. */
  ofAddress,
  /** True when the owner has to link again. */
  needsUpdate: (status: FinancialInstitutionStatus): boolean => status === 'login_required',
} as const
