import { type AccountStatus, Address, OutlayError, type TransferRequest } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import {
  type AddressRow,
  accountNumberPlace,
  addressColumns,
  type PostalAddress,
  readAddress,
} from '../addresses/addresses.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, type Row, run, statement } from '../database/statement.ts'
import type { RailBankAccount } from '../rails/port.ts'
import type { Environment } from '../schema/caller.ts'

/** An address of a transfer, with data that only the service has. */
export interface Party extends AddressRow {
  /** The wallet of this service at that address: itself when internal, possibly one of another account. */
  readonly custodial: { readonly accountId: string; readonly addressId: string } | undefined
  /** In plain text. */
  readonly bankAccount: RailBankAccount | undefined
}

/** The parties of a transfer. */
export interface TransferParties {
  readonly businessName: string
  readonly businessAddress: PostalAddress
  /** Undefined for an inbound wire. */
  readonly source: Party | undefined
  readonly destination: Party
}

/**
 * Reads the account and the addresses that a request names, in one statement, and checks that the transfer can use each.
 * `transfer_hold` checks the status of each again, and that of a wallet of another account.
 * @throws OutlayError `not_found`, `account_not_ready`, `invalid_address`, `address_archived`, `mixed_environments`,
 *   `transfer_type_not_supported`, `payee_not_ready`, `bank_login_required`, in this order per address, source first.
 */
export async function findParties(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  environment: Environment,
  request: Pick<TransferRequest, 'source' | 'destination'>,
): Promise<TransferParties> {
  const { source, destination } = request
  const ids = [destination.addressId, ...(source.addressId === undefined ? [] : [source.addressId])]
  const rows = await run(executor, context, selectParties, [accountId, ids, destination.transferType])
  const account = rows[0]?.account
  if (account === undefined) throw new OutlayError('not_found', 'The account does not exist.')
  if (account.status !== 'complete') {
    throw new OutlayError(
      'account_not_ready',
      `The account is ${account.status}; transfers require a complete account.`,
    )
  }
  const find = (side: 'source' | 'destination', addressId: string): Party => {
    const stored = rows.find(({ party }) => party?.address.id === addressId)?.party
    return checkParty(context, environment, side, request[side].transferType, stored)
  }
  return {
    businessName: account.businessName,
    businessAddress: account.address,
    source: source.addressId === undefined ? undefined : find('source', source.addressId),
    destination: find('destination', destination.addressId),
  }
}

function checkParty(
  context: ServiceContext,
  environment: Environment,
  side: 'source' | 'destination',
  transferType: string,
  stored: StoredParty | undefined,
): Party {
  const field = `${side}.addressId`
  if (stored === undefined) {
    throw new OutlayError('invalid_address', 'The account has no such address.', { field })
  }
  const { address } = stored
  if (address.status === 'archived') {
    const message = 'The address is archived; use another one, or make it active again.'
    throw new OutlayError('address_archived', message, { field })
  }
  if (address.status !== 'active') {
    throw new OutlayError('account_not_ready', 'The address is not active yet.', { field })
  }
  if (address.environment !== environment) {
    throw new OutlayError('mixed_environments', `The address belongs to ${address.environment}.`, { field })
  }
  if (!Address.allows(address.transferTypes, transferType, context.catalog)) {
    throw new OutlayError('transfer_type_not_supported', `The address does not list ${transferType}.`, { field })
  }
  if (stored.payeeIsOpen === false) {
    const message = 'The account that has this wallet here cannot receive money now.'
    throw new OutlayError('payee_not_ready', message, { field })
  }
  // Only a debit pulls money through the link.
  if (side === 'source' && address.bankLoginRequiredAt !== null) {
    throw new OutlayError('bank_login_required', 'The bank account has to be linked again before it is debited.', {
      field,
    })
  }
  return { ...address, custodial: custodialOf(stored), bankAccount: bankAccountOf(context, stored.bankAccount) }
}

function custodialOf({ address, payeeAccountId, payeeAddressId }: StoredParty): Party['custodial'] {
  if (address.type === 'internal') return { accountId: address.accountId, addressId: address.id }
  if (payeeAccountId === null || payeeAddressId === null) return undefined
  return { accountId: payeeAccountId, addressId: payeeAddressId }
}

/** The bank account of a stored address, in plain text; `undefined` when the address is not a bank account. */
export function bankAccountOf(
  context: Pick<ServiceContext, 'secrets'>,
  stored: ReturnType<typeof readBankAccount>,
): RailBankAccount | undefined {
  if (stored.bankAccountNumber === null) return undefined
  return {
    owner: stored.bankOwner ?? '',
    routingNumber: stored.bankRoutingNumber ?? '',
    accountType: stored.bankAccountType ?? '',
    accountNumber: context.secrets.open(stored.bankAccountNumber, accountNumberPlace(stored.id)),
  }
}

/** Reads the bank account of an address, whose number is sealed. */
export const readBankAccount = rowDecoder('address', {
  id: Column.text,
  bankOwner: Column.nullable(Column.text),
  bankRoutingNumber: Column.nullable(Column.text),
  bankAccountType: Column.nullable(Column.text),
  bankAccountNumber: Column.nullable(Column.text),
})

const readAccount = rowDecoder('account', {
  status: Column.from('account_status', Column.word<AccountStatus>()),
  businessName: Column.from('account_business_name', Column.text),
  address: Column.from('account_address', Column.json<PostalAddress>()),
})

const readLinks = rowDecoder('address', {
  payeeAccountId: Column.nullable(Column.text),
  payeeAddressId: Column.nullable(Column.text),
  payeeIsOpen: Column.nullable(Column.boolean),
})

type StoredParty = ReturnType<typeof readStoredParty>

function readStoredParty(row: Row) {
  return { address: readAddress(row), bankAccount: readBankAccount(row), ...readLinks(row) }
}

/** An account that has none of the addresses is one row without a party. */
function readParty(row: Row) {
  return { account: readAccount(row), party: row['id'] === null ? undefined : readStoredParty(row) }
}

const selectParties = statement(
  'transfer_parties_select',
  `select o.status as account_status, o.business_name as account_business_name, o.address as account_address,
          a.*, p.account_id as payee_account_id, p.address_id as payee_address_id,
          {{schema}}.wallet_is_open(p.account_id, p.address_id) as payee_is_open
     from {{schema}}.account o
     left join lateral (
       select ${addressColumns}, bank_account_number, address_normal
         from {{schema}}.address
        where account_id = o.id and id = any ($2)
     ) a on true
     left join lateral (
       -- Without an address, the function does not run.
       select w.*
         from {{schema}}.custodial_wallet(
                a.environment, case when a.type = 'external' and a.kind <> 'bank' then a.address_normal end, $3
              ) w
     ) p on true
    where o.id = $1`,
  readParty,
)
