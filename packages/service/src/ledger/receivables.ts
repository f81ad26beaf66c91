import { type Amount, Id } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'

/** What an account owes, because money came back that it had spent. */
export interface Receivable {
  readonly accountId: string
  /** The address that had the money. */
  readonly addressId: string
  readonly transferType: string
  readonly amount: Amount
  /** True while the account may not send. */
  readonly blocksSends: boolean
  readonly since: Date
}

/** Lists what accounts owe, of one account or of all, oldest first. Call it in a transaction of `inTransaction`. */
export async function listReceivables(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  accountId?: string,
): Promise<readonly Receivable[]> {
  const rows = await run(tx, context, select, [accountId ?? null])
  return rows.map(({ amountValue: value, valueType: currency, ...row }) => ({ ...row, amount: { value, currency } }))
}

/** What {@link collectReceivables} may take. */
export interface CollectOptions {
  /**
   * True also takes other tokens of the same peg, and tokens on other chains, one to one, after those of the same value on the same chain. In
   * the ledger one is burned and the other minted; whoever keeps the tokens exchanges them. Default false.
   */
  readonly acrossPeg?: boolean | undefined
}

/**
 * Pays what an account owes from its wallets of the same value on the same chain, as far as they have it available, and with `acrossPeg` from its
 * others. Resolves with what is left. Call it in a transaction of `inTransaction`, for example when a deposit has arrived.
 */
export async function collectReceivables(
  tx: Tx,
  context: Pick<ServiceContext, 'schema' | 'clock' | 'random' | 'catalog'>,
  accountId: string,
  { acrossPeg = false }: CollectOptions = {},
): Promise<readonly Receivable[]> {
  const types = acrossPeg ? context.catalog.valueTypes.map(({ name, peg, scale }) => [name, { peg, scale }]) : []
  const posting = Id.generate(context.clock, context.random)
  await run(tx, context, settle, [accountId, posting, JSON.stringify(Object.fromEntries(types))])
  return await listReceivables(tx, context, accountId)
}

const select = statement(
  'receivable_list',
  `select account_id, address_id, value_type, transfer_type, trim_scale(amount)::text as amount_value, blocks_sends, since
     from {{schema}}.receivable
    where amount > 0 and ($1::text is null or account_id = $1)
    order by since, account_id, address_id`,
  rowDecoder('receivable', {
    accountId: Column.text,
    addressId: Column.text,
    valueType: Column.text,
    transferType: Column.text,
    amountValue: Column.text,
    blocksSends: Column.boolean,
    since: Column.date,
  }),
)

const settle = statement('receivable_settle', 'select {{schema}}.receivable_settle($1, $2, $3::jsonb)')
