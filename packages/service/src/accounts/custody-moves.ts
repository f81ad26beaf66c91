import { type Amount, Id } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import { book, planMove } from '../ledger/ledger.ts'

/** What a wallet has whose keys nobody keeps. */
export interface UnkeptBalance {
  readonly addressId: string
  readonly transferType: string
  readonly available: Amount
  /** What transfers hold that have not ended. */
  readonly held: Amount
}

/**
 * Moves what the wallets of an account have available whose keys nobody keeps, such as those of earlier releases, into its wallets that have
 * a custodian, on the same chains. Orders such wallets where there are none. Resolves with what is left: call it again until that is empty, once
 * the wallets are there and the transfers that hold money have ended. It moves claims in the ledger; the custodian's wallet has to get
 * the tokens otherwise. Call it in a transaction of `inTransaction`.
 */
export async function moveToCustody(
  tx: Tx,
  context: Pick<ServiceContext, 'schema' | 'clock' | 'random'>,
  accountId: string,
): Promise<readonly UnkeptBalance[]> {
  await run(tx, context, orderWallets, [accountId, context.clock.now()])
  const moves = await run(tx, context, lockMoves, [accountId])
  const lines = moves.flatMap(({ from, to, valueType, transferType, available }) => {
    const wallet = (addressId: string) => ({ valueType, transferType, custodial: { accountId, addressId } })
    return planMove(wallet(from), wallet(to), available)
  })
  if (lines.length > 0) await book(tx, context, Id.generate(context.clock, context.random), 'deposit', lines)
  const left = await run(tx, context, selectUnkept, [accountId])
  return left.map(({ valueType: currency, available, held, ...row }) => ({
    ...row,
    available: { value: available, currency },
    held: { value: held, currency },
  }))
}

/** True for an account `a` of which no wallet has a custodian. */
export const hasNoCustodian = `not exists (
      select from {{schema}}.address w where w.account_id = a.id and w.type = 'internal' and w.custody is not null
    )`

const orderWallets = statement(
  'account_order_wallets',
  `update {{schema}}.account a set wallets_at = coalesce(a.wallets_at, $2) where a.id = $1 and ${hasNoCustodian}`,
)

// Locked in the order in which the ledger locks wallets. Those with a custodian are younger, so they come behind.
const lockMoves = statement(
  'ledger_lock_unkept',
  `select l.address_id as "from", n.id as "to", l.value_type, l.transfer_type, trim_scale(l.available)::text as available
     from {{schema}}.ledger_account l
     join {{schema}}.address o on o.id = l.address_id
    cross join lateral (
      select w.id from {{schema}}.address w
       where w.account_id = l.account_id and w.type = 'internal' and w.custody is not null and w.status <> 'archived'
         and l.transfer_type = any (w.transfer_types)
       order by w.id
       limit 1
    ) n
    where l.kind = 'custodial' and l.account_id = $1 and l.available > 0 and o.type = 'internal' and o.custody is null
    order by l.address_id, l.value_type, l.transfer_type
      for no key update of l`,
  rowDecoder('wallet', {
    from: Column.text,
    to: Column.text,
    valueType: Column.text,
    transferType: Column.text,
    available: Column.text,
  }),
)

const selectUnkept = statement(
  'ledger_select_unkept',
  `select l.address_id, l.value_type, l.transfer_type, trim_scale(l.available)::text as available,
          trim_scale(l.held)::text as held
     from {{schema}}.ledger_account l
     join {{schema}}.address o on o.id = l.address_id
    where l.kind = 'custodial' and l.account_id = $1 and l.available + l.held > 0
      and o.type = 'internal' and o.custody is null
    order by l.address_id, l.value_type, l.transfer_type`,
  rowDecoder('wallet', {
    addressId: Column.text,
    transferType: Column.text,
    valueType: Column.text,
    available: Column.text,
    held: Column.text,
  }),
)
