import { Account, type AccountStatus, Id } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { PostalAddress } from '../addresses/addresses.ts'
import { createWallets, type ProvisionedWallet, provisionWallets } from '../addresses/wallets.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, listOf, type Row, run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'
import { failUnsent } from '../transfers/rejected-account.ts'
import { recordEvent } from '../webhooks/events.ts'
import { hasNoCustodian } from './custody-moves.ts'
import type { AccountChange, NewAccount } from './input.ts'
import type { AccountSubmission } from './reviewer.ts'

/** An account as the API returns it: `ein` and each `ssn` are masked, except the last four digits. Specification: "Account". */
export interface AccountResource {
  readonly id: string
  readonly status: AccountStatus
  readonly business_name: string
  /** The same as `business_name`. */
  readonly name: string
  readonly ein: string
  readonly address: PostalAddress
  readonly phone_number: string
  readonly email: string
  readonly website: string
  readonly ultimate_beneficial_owners: readonly {
    readonly name: string
    readonly ssn: string
    readonly address: PostalAddress
  }[]
  readonly account_type?: NonNullable<NewAccount['account_type']>
  readonly entity_type?: NonNullable<NewAccount['entity_type']>
  readonly created: string
  readonly updated: string
}

/** What a new account has before its transaction begins. */
export interface PreparedAccount {
  readonly id: string
  /** Absent when the custodian has not provided them yet. */
  readonly wallets?: readonly ProvisionedWallet[] | undefined
  /** When the worker may ask for them. Default: at once. */
  readonly walletsAt?: Date | undefined
}

/**
 * Gives a new account its id, and asks the custodian for its wallets, outside any transaction. For a custodian that keeps nothing, as the simulated one:
 * when the account is not registered, nobody knows these wallets.
 */
export async function prepareAccount(
  executor: Executor,
  context: ServiceContext,
  { environment }: { readonly environment: Environment },
): Promise<PreparedAccount> {
  const id = Id.generate(context.clock, context.random)
  return { id, wallets: await provisionWallets(executor, context, { id, environment }) }
}

/**
 * Registers an account for a client, with its custodial wallets on every supported chain of the client's environment, in
 * the caller's transaction. Wallets that are not there yet come later. Specification: "Accounts".
 */
export async function createAccount(
  tx: Tx,
  context: ServiceContext,
  client: { readonly clientId: string; readonly environment: Environment },
  account: NewAccount,
  { id, wallets, walletsAt }: PreparedAccount = { id: Id.generate(context.clock, context.random) },
): Promise<AccountResource> {
  const isComplete = context.completesAccounts === true && context.reviewer === undefined
  const status = isComplete ? 'complete' : 'pending'
  const owners = account.ultimate_beneficial_owners.map((owner, at) => ({
    ...owner,
    ssn: context.secrets.seal(owner.ssn, ssnPlace(id, at)),
  }))
  const controller = account.business_controller
  const now = context.clock.now()
  const written = {
    id,
    environment: client.environment,
    status,
    business_name: account.business_name,
    ein: context.secrets.seal(account.ein, einPlace(id)),
    address: account.address,
    phone_number: account.phone_number,
    email: account.email,
    website: account.website,
    ultimate_beneficial_owners: owners,
    business_controller:
      controller === undefined ? null : context.secrets.seal(JSON.stringify(controller), controllerPlace(id)),
    tos_attestation: account.tos_attestation ?? null,
    account_type: account.account_type ?? null,
    entity_type: account.entity_type ?? null,
    wallets_at: wallets === undefined ? (walletsAt ?? now) : null,
    review_at: isComplete ? null : now,
    created_at: now,
    updated_at: now,
  }
  const [row] = await run(tx, context, registerAccount, [JSON.stringify(written), client.clientId])
  if (row === undefined) throw new Error('The account was not written.')
  const walletStatus = status === 'complete' ? 'active' : 'pending'
  if (wallets !== undefined) {
    await createWallets(tx, context, { id, environment: client.environment, status: walletStatus }, wallets)
  }
  return accountOf(context, row)
}

/** One account as the API returns it; `undefined` when it does not exist. */
export async function findAccount(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
): Promise<AccountResource | undefined> {
  const [row] = await run(executor, context, selectAccount, [accountId])
  return row === undefined ? undefined : accountOf(context, row)
}

/**
 * Sets the result of the onboarding review in the caller's transaction, opens or closes the account's wallets accordingly, and records
 * `account.updated`. The reviewer's answer no longer counts then. The worker asks the custodian for the wallets of an account that is complete and
 * has none with a custodian. Transfers of an account that is rejected fail as `account_rejected` as far as no request for them has left; those that
 * may have moved money go on. False when the account is unknown or already has that status.
 */
export async function setAccountStatus(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  status: AccountStatus,
): Promise<boolean> {
  const [row] = await run(tx, context, updateStatus, [accountId, status, context.clock.now()])
  if (row === undefined) return false
  const walletStatus = status === 'complete' ? 'active' : 'pending'
  await run(tx, context, updateWallets, [accountId, walletStatus, context.clock.now()])
  if (status === 'rejected') await failUnsent(tx, context, accountId)
  await recordEvent(tx, context, { accountId, type: 'account.updated', data: accountOf(context, row) })
  return true
}

/**
 * Changes how the business is reached, in the caller's transaction, and records `account.updated`. `undefined` when the account does not
 * exist.
 */
export async function changeAccount(
  tx: Tx,
  context: ServiceContext,
  accountId: string,
  { phone_number: phone, email, website }: AccountChange,
): Promise<AccountResource | undefined> {
  const values = [accountId, phone ?? null, email ?? null, website ?? null, context.clock.now()]
  const [row] = await run(tx, context, updateContact, values)
  if (row === undefined) return undefined
  const account = accountOf(context, row)
  await recordEvent(tx, context, { accountId, type: 'account.updated', data: account })
  return account
}

const readAccount = rowDecoder('account', {
  id: Column.text,
  status: Column.word<AccountStatus>(),
  business_name: Column.text,
  ein: Column.text,
  address: Column.json<PostalAddress>(),
  phone_number: Column.text,
  email: Column.text,
  website: Column.text,
  ultimate_beneficial_owners: Column.json<AccountResource['ultimate_beneficial_owners']>(),
  account_type: Column.nullable(Column.word<NonNullable<NewAccount['account_type']>>()),
  entity_type: Column.nullable(Column.word<NonNullable<NewAccount['entity_type']>>()),
  created_at: Column.isoTime,
  updated_at: Column.isoTime,
})

/** A row of the table, whose `ein` and each `ssn` are sealed. */
type StoredAccount = ReturnType<typeof readAccount>

function accountOf(context: ServiceContext, row: StoredAccount): AccountResource {
  return {
    id: row.id,
    status: row.status,
    business_name: row.business_name,
    name: row.business_name,
    ein: Account.maskEin(context.secrets.open(row.ein, einPlace(row.id))),
    address: row.address,
    phone_number: row.phone_number,
    email: row.email,
    website: row.website,
    ultimate_beneficial_owners: row.ultimate_beneficial_owners.map((owner, at) => ({
      name: owner.name,
      ssn: Account.maskSsn(context.secrets.open(owner.ssn, ssnPlace(row.id, at))),
      address: owner.address,
    })),
    ...(row.account_type === null ? {} : { account_type: row.account_type }),
    ...(row.entity_type === null ? {} : { entity_type: row.entity_type }),
    created: row.created_at,
    updated: row.updated_at,
  }
}

/** Reads what was submitted for an account from its row. */
export function submissionOf(context: Pick<ServiceContext, 'secrets'>, row: Row): AccountSubmission {
  const { ultimate_beneficial_owners: owners, ...account } = readAccount(row)
  const { environment, business_controller: controller, tos_attestation: attestation } = readSubmitted(row)
  const { id, status: _, ein, created_at: __, updated_at: ___, account_type: accountType, ...others } = account
  const { entity_type: entityType, ...rest } = others
  const { secrets } = context
  return {
    ...rest,
    ...(accountType === null ? {} : { account_type: accountType }),
    ...(entityType === null ? {} : { entity_type: entityType }),
    accountId: id,
    environment,
    ein: secrets.open(ein, einPlace(id)),
    ultimate_beneficial_owners: owners.map((owner, at) => ({
      ...owner,
      ssn: secrets.open(owner.ssn, ssnPlace(id, at)),
    })),
    ...(controller === null ? {} : { business_controller: JSON.parse(secrets.open(controller, controllerPlace(id))) }),
    ...(attestation === null ? {} : { tos_attestation: attestation }),
  }
}

const readSubmitted = rowDecoder('account', {
  environment: Column.word<Environment>(),
  business_controller: Column.nullable(Column.text),
  tos_attestation: Column.nullable(Column.json<Readonly<Record<string, unknown>>>()),
})

/** Place of the sealed tax identifier of an account. */
export function einPlace(accountId: string) {
  return { table: 'account', column: 'ein', row: accountId }
}

function ssnPlace(accountId: string, at: number) {
  return { table: 'account', column: `ultimate_beneficial_owners.${at}.ssn`, row: accountId }
}

function controllerPlace(accountId: string) {
  return { table: 'account', column: 'business_controller', row: accountId }
}

const columns = listOf(readAccount)

/** The columns of the table from which {@link submissionOf} reads. */
export const submissionColumns: readonly string[] = [...readAccount.columns, ...readSubmitted.columns]

const registerAccount = statement(
  'account_register',
  `select ${columns} from {{schema}}.account_register($1::jsonb, $2)`,
  readAccount,
)

const selectAccount = statement(
  'account_select',
  `select ${columns} from {{schema}}.account where id = $1`,
  readAccount,
)

const updateStatus = statement(
  'account_update_status',
  `update {{schema}}.account a
      set status = $2, updated_at = $3, review_at = null,
          wallets_at = case when $2 = 'complete' and ${hasNoCustodian} then coalesce(a.wallets_at, $3) else a.wallets_at end
    where a.id = $1 and a.status <> $2
   returning ${columns}`,
  readAccount,
)

const updateContact = statement(
  'account_update_contact',
  `update {{schema}}.account
      set phone_number = coalesce($2, phone_number), email = coalesce($3, email), website = coalesce($4, website),
          updated_at = $5
    where id = $1
   returning ${columns}`,
  readAccount,
)

const updateWallets = statement(
  'address_update_wallets_status',
  `update {{schema}}.address set status = $2, updated_at = $3
    where account_id = $1 and type = 'internal' and status <> 'archived' and (custody is not null or $2 = 'pending')`,
)
