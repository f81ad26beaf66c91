import { Address, OutlayError, type TransferRequest } from '@outlay/core'
import {
  type AddressRow,
  accountNumberPlace,
  addressColumns,
  addressOf,
  type PostalAddress,
  type StoredAddress,
} from '../addresses/addresses.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
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
 * `transfer_create` checks the status of each again.
 * @throws OutlayError `not_found`, `account_not_ready`, `invalid_address`, `address_archived`, `mixed_environments`,
 *   `transfer_type_not_supported`, `bank_login_required`, in this order per address, source first.
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
  const rows = await run<PartyRow>(executor, context, selectParties, [accountId, ids, destination.transferType])
  const [account] = rows
  if (account === undefined) throw new OutlayError('not_found', 'The account does not exist.')
  if (account.account_status !== 'complete') {
    throw new OutlayError(
      'account_not_ready',
      `The account is ${account.account_status}; transfers require a complete account.`,
    )
  }
  const find = (side: 'source' | 'destination', addressId: string): Party => {
    const row = rows.find(({ id }) => id === addressId)
    return checkParty(context, environment, side, request[side].transferType, row)
  }
  return {
    businessName: account.account_business_name,
    businessAddress: account.account_address,
    source: source.addressId === undefined ? undefined : find('source', source.addressId),
    destination: find('destination', destination.addressId),
  }
}

function checkParty(
  context: ServiceContext,
  environment: Environment,
  side: 'source' | 'destination',
  transferType: string,
  row: PartyRow | undefined,
): Party {
  const field = `${side}.addressId`
  if (row === undefined) {
    throw new OutlayError('invalid_address', 'The account has no such address.', { field })
  }
  const address = addressOf(row)
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
  // Only a debit pulls money through the link.
  if (side === 'source' && row.bank_login_required_at !== null) {
    throw new OutlayError('bank_login_required', 'The bank account has to be linked again before it is debited.', {
      field,
    })
  }
  return { ...address, custodial: custodialOf(row), bankAccount: bankAccountOf(context, row) }
}

function custodialOf(row: PartyRow): Party['custodial'] {
  if (row.type === 'internal') return { accountId: row.account_id, addressId: row.id }
  if (row.payee_account_id === null || row.payee_address_id === null) return undefined
  return { accountId: row.payee_account_id, addressId: row.payee_address_id }
}

/** The bank account of a stored address, in plain text; `undefined` when the address is not a bank account. */
export function bankAccountOf(
  context: Pick<ServiceContext, 'secrets'>,
  row: Pick<StoredAddress, 'id' | 'bank_owner' | 'bank_routing_number' | 'bank_account_type'> & {
    readonly bank_account_number: string | null
  },
): RailBankAccount | undefined {
  if (row.bank_account_number === null) return undefined
  return {
    owner: row.bank_owner ?? '',
    routingNumber: row.bank_routing_number ?? '',
    accountType: row.bank_account_type ?? '',
    accountNumber: context.secrets.open(row.bank_account_number, accountNumberPlace(row.id)),
  }
}

interface PartyRow extends StoredAddress {
  readonly account_status: 'complete' | 'pending' | 'rejected'
  readonly account_business_name: string
  readonly account_address: PostalAddress
  readonly bank_account_number: string | null
  readonly bank_login_required_at: Date | null
  readonly payee_account_id: string | null
  readonly payee_address_id: string | null
}

const selectParties = statement(
  'transfer_parties_select',
  `select o.status as account_status, o.business_name as account_business_name, o.address as account_address,
          a.*, p.account_id as payee_account_id, p.address_id as payee_address_id
     from {{schema}}.account o
     left join lateral (
       select ${addressColumns}, bank_account_number, bank_login_required_at, address_normal
         from {{schema}}.address
        where account_id = o.id and id = any ($2)
     ) a on true
     left join lateral (
       select w.* from {{schema}}.custodial_wallet(a.environment, a.address_normal, $3) w
        where a.type = 'external' and a.kind <> 'bank'
     ) p on true
    where o.id = $1`,
)
