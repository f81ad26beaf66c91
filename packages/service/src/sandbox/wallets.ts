import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { type Row, run, statement } from '../database/statement.ts'

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
  return await run(tx, context, selectWallets, [accountId])
}

const readWallet: (row: Row) => WalletId = rowDecoder('wallet', {
  addressId: Column.from('id', Column.text),
  address: Column.text,
  transferTypes: Column.texts,
})

const selectWallets = statement(
  'sandbox_wallet_list',
  `select id, address, transfer_types from {{schema}}.address where account_id = $1 and type = 'internal' order by id`,
  readWallet,
)
