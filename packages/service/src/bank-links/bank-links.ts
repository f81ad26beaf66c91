import { OutlayError, type RegisterAccountRequest } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { bankAccountIndex } from '../addresses/addresses.ts'
import { createExternalAddress, postalAddressOf } from '../addresses/external.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'
import { type Exchange, findRegistered, markRegistered, publicTokenRefused } from './exchanges.ts'
import { findItemOfAddress, saveItem } from './items.ts'
import type { BankLinking, LinkedBankAccount, LinkFlow, OpenedFlow } from './port.ts'
import { askProvider } from './provider-call.ts'

/** The financial institutions of a public token. Specification: "Bank-linking", 3. */
export interface RegisteredAccounts {
  /** The first one: the address of its bank account. */
  readonly address_id: string
  /** The same. */
  readonly financial_institution_id: string
  /** All of them, when several bank accounts were selected. */
  readonly address_ids?: readonly string[]
  /** The same. */
  readonly financial_institution_ids?: readonly string[]
}

/** What a client registers. */
export interface Registration extends RegisterAccountRequest {
  /** Canonical names of the transfer types that the bank accounts get. Default: debits and credits by ACH. */
  readonly transferTypes?: readonly string[] | undefined
}

/** Transfer types of a linked bank account. */
const linkedTransferTypes = ['ach_debit', 'ach_credit'] as const

/** Opens a flow that links bank accounts of an account. The service stores nothing. Specification: "Bank-linking", 1. */
export async function openLinkFlow(
  context: ServiceContext,
  { provider }: BankLinking,
  flow: Omit<LinkFlow, 'accessToken'>,
  clientId: string,
): Promise<OpenedFlow> {
  return await askProvider(context, provider, clientId, (options) => provider.openFlow(flow, options))
}

/**
 * Opens a flow that renews the login of a financial institution. Specification: "POST …/update-link-token".
 * @throws OutlayError `conflict` when its owner entered it by hand, `service_unavailable`.
 */
export async function openUpdateFlow(
  executor: Executor,
  context: ServiceContext,
  { provider }: BankLinking,
  institution: { readonly clientId: string; readonly accountId: string; readonly id: string },
): Promise<OpenedFlow> {
  const { clientId, accountId, id } = institution
  const item = await findItemOfAddress(executor, context, accountId, id)
  if (item === undefined)
    throw new OutlayError(
      'conflict',
      'The financial institution was entered by hand; only one that was linked has a login.',
    )
  const flow = { ownerId: accountId, person: {}, accessToken: item.accessToken }
  return await askProvider(context, provider, clientId, (options) => provider.openFlow(flow, options))
}

/**
 * Creates or updates one financial institution per selected bank account, in the caller's transaction. A bank account that
 * the account has already, linked or entered by hand, keeps its id. Specification: "Bank-linking", 3.
 *
 * A token that is already registered returns the same answer and changes nothing.
 * @throws OutlayError `invalid_request` when nothing was selected, and for a registered token once its login has ended.
 */
export async function registerAccounts(
  tx: Tx,
  context: ServiceContext,
  owner: { readonly accountId: string; readonly environment: Environment },
  request: Registration,
  exchange: Exchange | undefined,
): Promise<RegisteredAccounts> {
  const { accountId } = owner
  await run(tx, context, lockAccount, [accountId])
  const registered = await findRegistered(tx, context, accountId, request.publicToken)
  if (registered !== null) return await repeat(tx, context, registered)
  if (exchange === undefined) throw new Error('The public token is neither exchanged nor registered.')
  if (exchange.accounts.length === 0)
    throw new OutlayError('invalid_request', 'No bank account was selected.', { field: 'public_token' })
  await saveItem(tx, context, accountId, exchange.item, request.customerWebhookUrl)
  const { transferTypes = linkedTransferTypes } = request
  const ids = new Set<string>()
  const indexes = exchange.accounts.map(({ routingNumber = '', accountNumber }) =>
    bankAccountIndex(context, { routingNumber, accountNumber }),
  )
  await run(tx, context, lockBankAccounts, [accountId, indexes])
  for (const account of exchange.accounts) {
    ids.add(await linkBankAccount(tx, context, owner, exchange.item.itemId, { account, transferTypes }))
  }
  await markRegistered(tx, context, accountId, request.publicToken, [...ids])
  return answerOf([...ids])
}

async function repeat(tx: Tx, context: ServiceContext, ids: readonly string[]): Promise<RegisteredAccounts> {
  // An old token must not appear to have renewed the login.
  if ((await run(tx, context, selectLoginRequired, [ids])).length > 0) throw publicTokenRefused()
  return answerOf(ids)
}

function answerOf(ids: readonly string[]): RegisteredAccounts {
  const [first] = ids
  if (first === undefined) throw new Error('A registered public token has no financial institution.')
  const all = ids.length === 1 ? {} : { address_ids: ids, financial_institution_ids: ids }
  return { address_id: first, financial_institution_id: first, ...all }
}

async function linkBankAccount(
  tx: Tx,
  context: ServiceContext,
  owner: { readonly accountId: string; readonly environment: Environment },
  itemId: string,
  { account, transferTypes }: { readonly account: LinkedBankAccount; readonly transferTypes: readonly string[] },
): Promise<string> {
  const { bankName, routingNumber = '', accountNumber, ...rest } = account
  const index = bankAccountIndex(context, { routingNumber, accountNumber })
  const [found] = await run(tx, context, selectSameBankAccount, [owner.accountId, index])
  const { id } = found ?? (await createExternalAddress(tx, context, owner, newAddress(account, transferTypes)))
  await run(tx, context, updateLinked, [
    id,
    itemId,
    bankName,
    rest.owner,
    rest.accountType,
    JSON.stringify(postalAddressOf(rest.bankAddress)),
    JSON.stringify(postalAddressOf(rest.beneficiaryAddress)),
    transferTypes,
    context.clock.now(),
  ])
  return id
}

function newAddress({ bankName: _, ...account }: LinkedBankAccount, transferTypes: readonly string[]) {
  return { ...account, transferTypes }
}

// Registrations of an account run one after the other, so that none misses a bank account that another one writes.
const lockAccount = statement('account_lock', 'select id from {{schema}}.account where id = $1 for no key update')

// In the order in which a report that a login is required locks those of another item.
const lockBankAccounts = statement(
  'address_lock_bank_accounts',
  `select id from {{schema}}.address
    where account_id = $1 and bank_account_index = any ($2::text[]) and kind = 'bank'
    order by id
      for no key update`,
)

const selectSameBankAccount = statement(
  'address_select_same_bank_account',
  `select id from {{schema}}.address
    where account_id = $1 and bank_account_index = $2 and kind = 'bank'
    order by bank_link_item_id is null, id
    limit 1`,
  rowDecoder('address', { id: Column.text }),
)

const updateLinked = statement(
  'address_update_linked',
  `update {{schema}}.address
      set bank_link_item_id = $2,
          bank_name = $3,
          bank_owner = $4,
          bank_account_type = $5,
          bank_address = $6,
          beneficiary_address = $7,
          transfer_types = transfer_types
            || (select coalesce(array_agg(t order by n), '{}')
                  from unnest($8::text[]) with ordinality as added (t, n)
                 where t <> all (transfer_types)),
          status = 'active',
          bank_login_required_at = null,
          updated_at = $9
    where id = $1`,
)

const selectLoginRequired = statement(
  'address_select_login_required',
  'select id from {{schema}}.address where id = any ($1) and bank_login_required_at is not null',
)
