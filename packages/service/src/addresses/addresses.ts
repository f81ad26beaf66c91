import type { ChainFamily } from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
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

/** The bank side of an address, without its account number. */
export interface BankRow {
  readonly owner: string
  readonly accountType: string
  readonly routingNumber: string
  readonly accountNumberLast4: string
  readonly bankAddress: PostalAddress
  readonly beneficiaryAddress: PostalAddress
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
  readonly bank?: BankRow | undefined
}

/** One address of the account; `undefined` for an unknown id and for one of another account. */
export async function findAddress(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  addressId: string,
): Promise<AddressRow | undefined> {
  const [row] = await run<StoredAddress>(executor, context, selectAddress, [accountId, addressId])
  return row === undefined ? undefined : addressOf(row)
}

/** The account number of a bank address in plain text; `undefined` when the address is not a bank account. */
export async function revealAccountNumber(
  executor: Executor | Tx,
  context: ServiceContext,
  addressId: string,
): Promise<string | undefined> {
  const [row] = await run<{ bank_account_number: string | null }>(executor, context, selectAccountNumber, [addressId])
  if (row === undefined || row.bank_account_number === null) return undefined
  return context.secrets.open(row.bank_account_number, accountNumberPlace(addressId))
}

/** The custodial wallet that has this on-chain address on this chain; `undefined` when this service does not hold the payee's wallet. */
export async function findCustodialByOnchainAddress(
  executor: Executor | Tx,
  context: ServiceContext,
  transferType: string,
  address: string,
): Promise<AddressRow | undefined> {
  const values = [normalAddress(address), transferType]
  const [row] = await run<StoredAddress>(executor, context, selectCustodial, values)
  return row === undefined ? undefined : addressOf(row)
}

/** One address of any of the client's accounts; `undefined` for an unknown id and for one of another client. */
export async function findAddressOfClient(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
  addressId: string,
): Promise<AddressRow | undefined> {
  const [row] = await run<StoredAddress>(executor, context, selectAddressOfClient, [clientId, addressId])
  return row === undefined ? undefined : addressOf(row)
}

/** The bank address of the account with these numbers, found by their keyed digest; `undefined` when there is none. */
export async function findBankAddress(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  numbers: { readonly routingNumber: string; readonly accountNumber: string },
): Promise<AddressRow | undefined> {
  const [row] = await run<StoredAddress>(executor, context, selectBankAddress, [
    accountId,
    bankAccountIndex(context, numbers),
  ])
  return row === undefined ? undefined : addressOf(row)
}

/** Keyed digest of the numbers of a bank account, by which it is found. */
export function bankAccountIndex(
  context: ServiceContext,
  numbers: { readonly routingNumber: string; readonly accountNumber: string },
): string {
  return context.secrets.mac('address.bank_account_index', `${numbers.routingNumber} ${numbers.accountNumber}`)
}

/** The canonical form of an on-chain address: hexadecimal ones in lower case. */
export function normalAddress(address: string): string {
  return /^0x[0-9a-fA-F]{40}$/.test(address) ? address.toLowerCase() : address
}

/** Place of the sealed account number of a bank address. */
export function accountNumberPlace(addressId: string) {
  return { table: 'address', column: 'bank_account_number', row: addressId }
}

/** Columns of {@link StoredAddress}, to select. */
export const addressColumns = `id, account_id, type, kind, family, status, name, address, transfer_types, environment,
  created_at, bank_owner, bank_account_type, bank_routing_number, bank_account_last4, bank_address,
  beneficiary_address`

/** A row of the table. */
export interface StoredAddress {
  readonly id: string
  readonly account_id: string
  readonly type: AddressRow['type']
  readonly kind: AddressRow['kind']
  readonly family: AddressRow['family']
  readonly status: AddressRow['status']
  readonly name: string
  readonly address: string
  readonly transfer_types: readonly string[]
  readonly environment: Environment
  readonly created_at: Date
  readonly bank_owner: string | null
  readonly bank_account_type: string | null
  readonly bank_routing_number: string | null
  readonly bank_account_last4: string | null
  readonly bank_address: PostalAddress | null
  readonly beneficiary_address: PostalAddress | null
}

/** Reads a row of the table. */
export function addressOf(row: StoredAddress): AddressRow {
  return {
    id: row.id,
    accountId: row.account_id,
    type: row.type,
    kind: row.kind,
    family: row.family,
    status: row.status,
    name: row.name,
    address: row.address,
    transferTypes: row.transfer_types,
    environment: row.environment,
    createdAt: row.created_at.toISOString(),
    bank: bankOf(row),
  }
}

function bankOf(row: StoredAddress): BankRow | undefined {
  if (row.bank_owner === null || row.bank_address === null || row.beneficiary_address === null) return undefined
  return {
    owner: row.bank_owner,
    accountType: row.bank_account_type ?? '',
    routingNumber: row.bank_routing_number ?? '',
    accountNumberLast4: row.bank_account_last4 ?? '',
    bankAddress: row.bank_address,
    beneficiaryAddress: row.beneficiary_address,
  }
}

const selectAddress = statement(
  'address_select',
  `select ${addressColumns} from {{schema}}.address where account_id = $1 and id = $2`,
)

const selectAccountNumber = statement(
  'address_select_account_number',
  `select bank_account_number from {{schema}}.address where id = $1`,
)

const selectCustodial = statement(
  'address_select_custodial',
  `select ${addressColumns}
     from {{schema}}.address
    where address_normal = $1 and type = 'internal' and $2 = any (transfer_types)`,
)

const selectAddressOfClient = statement(
  'address_select_of_client',
  `select ${addressColumns}
     from {{schema}}.address
    where id = $2 and account_id in (select account_id from {{schema}}.client_account where client_id = $1)`,
)

const selectBankAddress = statement(
  'address_select_bank',
  `select ${addressColumns}
     from {{schema}}.address
    where account_id = $1 and bank_account_index = $2 and kind = 'bank'
    order by id
    limit 1`,
)
