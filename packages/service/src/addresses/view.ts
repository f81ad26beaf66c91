import type { AddressRow, PostalAddress } from './addresses.ts'

/** An address as the API returns it. The account number is masked, except the last four digits. Specification: "Address". */
export interface AddressResource {
  readonly id: string
  readonly account_id: string
  readonly type: AddressRow['type']
  readonly name: string
  readonly status: AddressRow['status']
  readonly address: string
  readonly transfer_types: readonly string[]
  readonly created: string
  readonly last_updated: string
  readonly ownership: 'custodial' | 'counterparty' | NonNullable<AddressRow['ownership']>
  /** True for the wallets that an account has anyway. */
  readonly is_primary: boolean
  /** True when the owner of a linked bank account has to log in again. */
  readonly needs_update: boolean
  readonly owner?: string
  readonly account_type?: string
  readonly routing_number?: string
  /** The same, as the public contract spells it. */
  readonly routingNumber?: string
  readonly account_number?: string
  readonly bank_address?: PostalAddress
  readonly beneficiary_address?: PostalAddress
}

/** Writes an address as the API returns it. */
export function addressView(row: AddressRow): AddressResource {
  return {
    id: row.id,
    account_id: row.accountId,
    type: row.type,
    name: row.name,
    status: row.status,
    address: row.address,
    transfer_types: row.transferTypes,
    created: row.createdAt,
    last_updated: row.updatedAt,
    ownership: row.ownership ?? (row.type === 'internal' ? 'custodial' : 'counterparty'),
    is_primary: row.type === 'internal' && !row.additional,
    needs_update: row.bankLoginRequiredAt !== null,
    ...bankMembers(row.bank),
  }
}

function bankMembers(bank: AddressRow['bank']): Partial<AddressResource> {
  if (bank === undefined) return {}
  const { bankAddress, beneficiaryAddress, routingNumber } = bank
  return {
    owner: bank.owner,
    account_type: bank.accountType,
    routing_number: routingNumber,
    routingNumber,
    account_number: `****${bank.accountNumberLast4}`,
    ...(bankAddress === undefined ? {} : { bank_address: bankAddress }),
    ...(beneficiaryAddress === undefined ? {} : { beneficiary_address: beneficiaryAddress }),
  }
}
