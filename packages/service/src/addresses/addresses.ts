import type { ChainFamily } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'

/** A postal address in the format of the API. Specification: AccountAddress. */
export interface PostalAddress {
  readonly street_line_1: string
  readonly street_line_2?: string | undefined
  readonly city: string
  readonly state: string
  readonly zip: string
  readonly country?: string | undefined
}

/** The bank side of an address, without its account number. The postal addresses are needed for wires only. */
export interface BankRow {
  readonly owner: string
  readonly accountType: string
  readonly routingNumber: string
  readonly accountNumberLast4: string
  readonly bankAddress: PostalAddress | undefined
  readonly beneficiaryAddress: PostalAddress | undefined
}

/** A stored address of an account. Specification: "Address". */
export interface AddressRow {
  readonly id: string
  readonly accountId: string
  readonly type: 'internal' | 'external'
  readonly kind: 'wallet' | 'canton' | 'bank'
  /** Address format; null for a bank account. */
  readonly family: ChainFamily | null
  readonly status: 'pending' | 'active' | 'archived'
  readonly name: string
  /** On-chain address or Canton party; empty for a bank account. */
  readonly address: string
  /** Canonical names. */
  readonly transferTypes: readonly string[]
  readonly environment: Environment
  /** ISO 8601, UTC. */
  readonly createdAt: string
  /** ISO 8601, UTC. */
  readonly updatedAt: string
  /** True for a wallet that a client has asked for, beside those that its account has anyway. */
  readonly additional: boolean
  /** Whose an external address is, as the client says; null when it does not. */
  readonly ownership: 'self-owned' | 'customer-owned' | null
  /** Since when the owner of a linked bank account has to log in again; null while the link works. */
  readonly bankLoginRequiredAt: Date | null
  readonly bank?: BankRow | undefined
}

/** One address of the account; `undefined` for an unknown id and for one of another account. */
export async function findAddress(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  addressId: string,
): Promise<AddressRow | undefined> {
  const [address] = await run(executor, context, selectAddress, [accountId, addressId])
  return address
}

/** One address of any of the client's accounts; `undefined` for an unknown id and for one of another client. */
export async function findAddressOfClient(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
  addressId: string,
): Promise<AddressRow | undefined> {
  const [address] = await run(executor, context, selectAddressOfClient, [clientId, addressId])
  return address
}

/** Keyed digest of the numbers of a bank account, by which it is found. */
export function bankAccountIndex(
  context: ServiceContext,
  numbers: { readonly routingNumber: string; readonly accountNumber: string },
): string {
  return context.secrets.mac('address.bank_account_index', `${numbers.routingNumber} ${numbers.accountNumber}`)
}

/** The form in which an on-chain address, also that of a wallet, is unique and is found: those of EVM chains in lower case. */
export function normalAddress(address: string): string {
  return /^0x[0-9a-fA-F]{40}$/.test(address) ? address.toLowerCase() : address
}

/** Place of the sealed account number of a bank address. */
export function accountNumberPlace(addressId: string) {
  return { table: 'address', column: 'bank_account_number', row: addressId }
}

/** What a statement selects of the table for {@link readAddress}. */
export const addressColumns = `id, account_id, type, kind, family, status, name, address, transfer_types, environment,
  created_at, updated_at, additional, ownership, bank_login_required_at, bank_owner, bank_account_type, bank_routing_number, bank_account_last4, bank_address,
  beneficiary_address`

/** Reads a row of the table. */
export function readAddress(row: Row): AddressRow {
  return { ...readColumns(row), bank: readBank(row) }
}

const readColumns = rowDecoder('address', {
  id: Column.text,
  accountId: Column.text,
  type: Column.word<AddressRow['type']>(),
  kind: Column.word<AddressRow['kind']>(),
  family: Column.nullable(Column.word<ChainFamily>()),
  status: Column.word<AddressRow['status']>(),
  name: Column.text,
  address: Column.text,
  transferTypes: Column.texts,
  environment: Column.word<Environment>(),
  createdAt: Column.isoTime,
  updatedAt: Column.isoTime,
  additional: Column.boolean,
  ownership: Column.nullable(Column.word<NonNullable<AddressRow['ownership']>>()),
  bankLoginRequiredAt: Column.nullable(Column.date),
})

function readBank(row: Row): BankRow | undefined {
  const { owner, bankAddress, beneficiaryAddress, ...rest } = readBankColumns(row)
  if (owner === null) return undefined
  return {
    owner,
    accountType: rest.accountType ?? '',
    routingNumber: rest.routingNumber ?? '',
    accountNumberLast4: rest.accountNumberLast4 ?? '',
    bankAddress: bankAddress ?? undefined,
    beneficiaryAddress: beneficiaryAddress ?? undefined,
  }
}

const readBankColumns = rowDecoder('address', {
  owner: Column.from('bank_owner', Column.nullable(Column.text)),
  accountType: Column.from('bank_account_type', Column.nullable(Column.text)),
  routingNumber: Column.from('bank_routing_number', Column.nullable(Column.text)),
  accountNumberLast4: Column.from('bank_account_last4', Column.nullable(Column.text)),
  bankAddress: Column.nullable(Column.json<PostalAddress>()),
  beneficiaryAddress: Column.nullable(Column.json<PostalAddress>()),
})

const selectAddress = statement(
  'address_select',
  `select ${addressColumns} from {{schema}}.address where account_id = $1 and id = $2`,
  readAddress,
)

const selectAddressOfClient = statement(
  'address_select_of_client',
  `select ${addressColumns}
     from {{schema}}.address
    where id = $2 and account_id in (select account_id from {{schema}}.client_account where client_id = $1)`,
  readAddress,
)
