import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'

/** A custodial wallet of a seeded account. */
export interface WalletId {
  readonly addressId: string
  /** On-chain address. */
  readonly address: string
  readonly transferTypes: readonly string[]
}

/** The account's custodial wallets, EVM first. */
export async function listWallets(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  accountId: string,
): Promise<readonly WalletId[]> {
  const rows = await run<{ id: string; address: string; transfer_types: string[] }>(tx, context, selectWallets, [
    accountId,
  ])
  return rows.map(({ id, address, transfer_types }) => ({ addressId: id, address, transferTypes: transfer_types }))
}

const selectWallets = statement(
  'sandbox_wallet_list',
  `select id, address, transfer_types from {{schema}}.address where account_id = $1 and type = 'internal' order by id`,
)
