import {
  type AddressRegistration,
  type BankAccountRegistration,
  Id,
  OutlayError,
  type PostalAddress as PostalAddressInput,
  parseAddressRegistration,
} from '@outlay/core'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'
import {
  type AddressRow,
  accountNumberPlace,
  addressColumns,
  bankAccountIndex,
  normalAddress,
  type PostalAddress,
  readAddress,
} from './addresses.ts'

const kinds = { wallet: 'wallet', canton_party: 'canton', bank_account: 'bank' } as const satisfies Record<
  AddressRegistration['kind'],
  AddressRow['kind']
>

/**
 * Registers a counterparty's wallet, Canton party or bank account in the caller's transaction, and returns it. The
 * account number is stored sealed, beside a keyed digest. Specification: "POST /accounts/{account_id}/addresses/external".
 * @throws OutlayError what `parseAddressRegistration` throws; `mixed_environments` for chains of the other environment.
 */
export async function createExternalAddress(
  tx: Tx,
  context: ServiceContext,
  owner: { readonly accountId: string; readonly environment: Environment },
  body: unknown,
): Promise<AddressRow> {
  const request = parseAddressRegistration(body, context.catalog, { spelling: 'snake' })
  checkEnvironment(context, owner.environment, request.transferTypes)
  const id = Id.generate(context.clock, context.random)
  const bank = request.kind === 'bank_account' ? request : undefined
  const address = request.kind === 'bank_account' ? '' : request.address
  const [written] = await run(tx, context, insertAddress, [
    id,
    owner.accountId,
    owner.environment,
    kinds[request.kind],
    bank === undefined ? context.catalog.transferType(request.transferTypes[0] ?? '')?.family : null,
    request.name,
    address,
    normalAddress(address),
    request.transferTypes,
    ...bankValues(context, id, bank),
    context.clock.now(),
    request.ownership ?? null,
  ])
  if (written === undefined) throw new Error('The address was not written.')
  return written
}

/** Refuses chains of another environment than the client's; bank rails belong to both. */
export function checkEnvironment(
  context: ServiceContext,
  environment: Environment,
  transferTypes: readonly string[],
): void {
  for (const name of transferTypes) {
    const own = context.catalog.transferType(name)?.environment ?? environment
    if (own !== environment)
      throw new OutlayError('mixed_environments', `${name} is of ${own}; these credentials are for ${environment}.`, {
        field: 'transfer_types',
      })
  }
}

function bankValues(
  context: ServiceContext,
  id: string,
  bank: BankAccountRegistration | undefined,
): readonly unknown[] {
  if (bank === undefined) return [null, null, null, null, null, null, null, null]
  const routingNumber = bank.routingNumber ?? ''
  return [
    bank.owner,
    bank.accountType,
    routingNumber,
    context.secrets.seal(bank.accountNumber, accountNumberPlace(id)),
    bank.accountNumber.slice(-4),
    bankAccountIndex(context, { routingNumber, accountNumber: bank.accountNumber }),
    bank.bankAddress === undefined ? null : JSON.stringify(postalAddressOf(bank.bankAddress)),
    bank.beneficiaryAddress === undefined ? null : JSON.stringify(postalAddressOf(bank.beneficiaryAddress)),
  ]
}

/** A postal address in the format of the API. */
export function postalAddressOf(input: PostalAddressInput): PostalAddress {
  return {
    street_line_1: input.streetLine1,
    street_line_2: input.streetLine2,
    city: input.city,
    state: input.state,
    zip: input.zip,
    country: input.country,
  }
}

const insertAddress = statement(
  'address_insert_external',
  `insert into {{schema}}.address
     (id, account_id, environment, type, kind, family, status, name, address, address_normal, transfer_types,
      bank_owner, bank_account_type, bank_routing_number, bank_account_number, bank_account_last4, bank_account_index,
      bank_address, beneficiary_address, created_at, updated_at, ownership)
   values ($1, $2, $3, 'external', $4, $5, 'active', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18, $19)
   returning ${addressColumns}`,
  readAddress,
)
