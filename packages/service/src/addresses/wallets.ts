import { Address, type BuiltInChainFamily, type Catalog, type ChainFamily, Id } from '@outlay/core'
import { bulkheadOf } from '../bulkhead.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import type { Environment } from '../schema/caller.ts'
import { callWithin } from '../time-limit.ts'
import { normalAddress } from './addresses.ts'
import type { WalletOrder, WalletPlan } from './custody.ts'

const familyNames: Readonly<Record<BuiltInChainFamily, string>> = {
  evm: 'EVM',
  solana: 'Solana',
  stellar: 'Stellar',
  xrp: 'XRP Ledger',
  canton: 'Canton',
}

const nameOf = (family: ChainFamily): string => familyNames[family as BuiltInChainFamily] ?? family

/**
 * The wallets of an account of this environment, EVM first. Specification: "Addresses" rules 1 and 2.
 */
export function planWallets(catalog: Catalog, environment: Environment): readonly WalletPlan[] {
  const chains = catalog.transferTypes.filter((one) => one.family !== 'bank' && one.environment === environment)
  const evm = chains.filter((one) => one.family === 'evm').map((one) => one.name)
  const others = chains.flatMap(({ family, name }) =>
    family === 'evm' || family === 'bank' ? [] : [{ family, transferTypes: [name] }],
  )
  return evm.length === 0 ? others : [{ family: 'evm', transferTypes: evm }, ...others]
}

/**
 * Asks the custodian for the wallets of an account, outside any transaction. `undefined` without a custodian, and when it does not
 * provide them now, or gives addresses that are no such addresses or belong to another account. Its errors can quote accounts, so only the name
 * of the error is logged.
 */
export async function provisionWallets(
  executor: Executor,
  context: ProvisioningContext,
  { id: accountId, environment }: { readonly id: string; readonly environment: Environment },
  clientId?: string,
): Promise<readonly ProvisionedWallet[] | undefined> {
  const wallets = planWallets(context.catalog, environment)
  return await provisionPlans(executor, context, { accountId, environment, wallets }, clientId)
}

type ProvisioningContext = Pick<ServiceContext, 'custody' | 'catalog' | 'logger' | 'railTimeoutMs' | 'schema'>

/**
 * Asks the custodian for the wallets of an order, as {@link provisionWallets} does. A client that asks has a share of the places for such
 * calls. The worker of accounts, which has no client here, limits its calls itself.
 */
export async function provisionPlans(
  executor: Executor,
  context: ProvisioningContext,
  order: WalletOrder,
  clientId?: string,
): Promise<readonly ProvisionedWallet[] | undefined> {
  const { custody, catalog, logger, railTimeoutMs = 10_000 } = context
  if (custody === undefined) return undefined
  const { accountId, environment, wallets } = order
  const refuse = (error: string): undefined => {
    logger.warn({ accountId, error }, 'Wallets of an account are not there yet.')
  }
  let provisioned: readonly ProvisionedWallet[]
  try {
    const addresses = await callWithin(railTimeoutMs, (options) => {
      const provision = () => custody.provision(order, options)
      if (clientId === undefined) return provision()
      return bulkheadOf(custody).enter({ rail: 'wallets', party: clientId }, options.signal, provision)
    })
    provisioned = wallets.map((plan, at) => {
      const address = Address.parse(plan.family, addresses[at] ?? '', 'address', catalog)
      return { ...plan, address }
    })
  } catch (error) {
    return refuse(error instanceof Error ? error.name : typeof error)
  }
  const normal = provisioned.map(({ address }) => normalAddress(address))
  if (new Set(normal).size < normal.length) return refuse('AddressGivenTwice')
  const places = provisioned.flatMap(({ transferTypes }, at) =>
    transferTypes.map((type) => [normal[at], type] as const),
  )
  const used = await run(executor, context, selectUsed, [
    // The wallets that every account has may be there already. A further one is at a new address.
    order.walletId === undefined ? accountId : '',
    environment,
    places.map(([address]) => address),
    places.map(([, type]) => type),
  ])
  return used.length === 0 ? provisioned : refuse('AddressInUse')
}

/** A wallet that the custodian has provided. */
export interface ProvisionedWallet extends WalletPlan {
  readonly address: string
}

/**
 * Writes the account's custodial wallets in the caller's transaction. A wallet that the account has at such an address is the custodian's from
 * then on. One statement.
 */
export async function createWallets(
  tx: Tx,
  context: ServiceContext,
  account: { readonly id: string; readonly environment: Environment; readonly status: 'pending' | 'active' },
  provisioned: readonly ProvisionedWallet[],
): Promise<void> {
  // Ids of one millisecond have no order of their own; sorting them keeps EVM first in lists.
  const ids = provisioned.map(() => Id.generate(context.clock, context.random)).sort()
  const wallets = provisioned.map(({ family, transferTypes, address }, at) => ({
    id: ids[at],
    kind: family === 'canton' ? 'canton' : 'wallet',
    family,
    name: `${nameOf(family)} wallet`,
    address,
    address_normal: normalAddress(address),
    transfer_types: transferTypes,
  }))
  await run(tx, context, insertWallets, [
    account.id,
    account.environment,
    account.status,
    JSON.stringify(wallets),
    context.clock.now(),
    context.custody?.name,
  ])
}

const selectUsed = statement(
  'address_select_used',
  `select w.address_id
     from unnest($3::text[], $4::text[]) as given (address_normal, transfer_type)
    cross join lateral {{schema}}.custodial_wallet($2, given.address_normal, given.transfer_type) w
    where w.account_id <> $1
    limit 1`,
)

const insertWallets = statement(
  'address_insert_wallets',
  `with given as (
     select w.* from jsonb_to_recordset($4::jsonb) as w
       (id text, kind text, family text, name text, address text, address_normal text, transfer_types text[])
   ), kept as (
     update {{schema}}.address a set custody = $6, status = $3, updated_at = $5
       from given w
      where a.account_id = $1 and a.environment = $2 and a.type = 'internal' and a.address_normal = w.address_normal
     returning a.address_normal
   )
   insert into {{schema}}.address
     (id, account_id, environment, type, kind, family, status, name, address, address_normal, transfer_types,
      created_at, updated_at, custody)
   select w.id, $1, $2, 'internal', w.kind, w.family, $3, w.name, w.address, w.address_normal, w.transfer_types, $5, $5, $6
     from given w
    where w.address_normal not in (select address_normal from kept)`,
)
