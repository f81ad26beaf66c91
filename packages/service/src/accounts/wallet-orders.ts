import { Column, rowDecoder } from '@outlay/core/adapter'
import { createWallets, type ProvisionedWallet, provisionWallets } from '../addresses/wallets.ts'
import { inClientTransaction, type ServiceContext, type Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { asClient } from '../database/tenant.ts'
import type { Caller, Environment } from '../schema/caller.ts'

/** An account that waits for its wallets. */
export interface WalletOrderOfAccount {
  readonly id: string
  readonly environment: Environment
  /** Until when only its holder asks for them: the account has this time where its wallets are due. */
  readonly leasedUntil: Date
}

/** For how long an order is its holder's, in milliseconds: longer than the custodian may take. */
export const orderLeaseMs = 60_000

/**
 * Asks the custodian for the wallets of an account that was just registered, and writes them. The account is committed before: whatever the
 * custodian has provided belongs to an account that the service knows, and is asked for again under the same id. When the custodian gives
 * none, the worker asks at once; when they could not be written, or after a crash, it asks when the lease is over. Never rejects: the account is there.
 */
export async function orderFirstWallets(
  context: ServiceContext,
  { clientId }: Pick<Caller, 'clientId'>,
  order: WalletOrderOfAccount,
): Promise<void> {
  const { id, leasedUntil } = order
  try {
    const client = asClient(context, clientId)
    // Not there when its transaction was rolled back after all, and another request has the key.
    if ((await run(client, context, selectOrder, [id, leasedUntil])).length === 0) return
    const wallets = await provisionWallets(client, context, order, clientId)
    if (wallets === undefined) await run(client, context, releaseOrder, [id, leasedUntil, context.clock.now()])
    else await inClientTransaction(context, clientId, (tx) => writeWallets(tx, context, order, wallets))
  } catch (error) {
    const name = error instanceof Error ? error.name : typeof error
    context.logger.warn(
      { accountId: id, error: name },
      'The wallets of an account could not be written; the worker asks for them later.',
    )
  }
}

/** Writes the wallets in the caller's transaction, once for the order that asked for them. */
export async function writeWallets(
  tx: Tx,
  context: ServiceContext,
  { id, environment, leasedUntil }: WalletOrderOfAccount,
  wallets: readonly ProvisionedWallet[],
): Promise<void> {
  const [account] = await run(tx, context, endOrder, [id, leasedUntil])
  if (account === undefined) return
  const status = account.status === 'complete' ? 'active' : 'pending'
  await createWallets(tx, context, { id, environment, status }, wallets)
}

const selectOrder = statement(
  'account_select_wallet_order',
  'select from {{schema}}.account where id = $1 and wallets_at = $2',
)

const endOrder = statement(
  'account_end_wallets',
  `update {{schema}}.account set wallets_at = null where id = $1 and wallets_at = $2 returning status`,
  rowDecoder('account', { status: Column.text }),
)

const releaseOrder = statement(
  'account_release_wallets',
  'update {{schema}}.account set wallets_at = $3 where id = $1 and wallets_at = $2',
)
