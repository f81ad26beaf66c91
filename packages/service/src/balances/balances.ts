import { Amount, OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import { type AddressRow, findAddress } from '../addresses/addresses.ts'
import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, statement } from '../database/statement.ts'

/** One holding as the API returns it. Specification: "Balances"; only internal addresses have any. */
export interface BalanceResource {
  readonly address: { readonly id: string; readonly address: string }
  /** The total, including holds. */
  readonly balance: Amount
  /** The amount that a transfer can spend now. */
  readonly available: Amount
  readonly value_type: string
  readonly transfer_type: string
}

/** Exact, case-sensitive filters of a list of balances. */
export const balanceFilters = ['value_type', 'transfer_type', 'address_id'] as const

/** Filters that are set. */
export type BalanceFilters = Readonly<Partial<Record<(typeof balanceFilters)[number], string>>>

/** Holdings of the wallets of some accounts, by account and wallet. Empty ones are omitted. */
export async function listBalances(
  executor: Executor | Tx,
  context: ServiceContext,
  accountIds: readonly string[],
  filters: BalanceFilters = {},
): Promise<readonly BalanceResource[]> {
  const values = [accountIds, ...balanceFilters.map((name) => filters[name] ?? null)]
  const rows = await run(executor, context, selectBalances, values)
  return rows.map((row) => balanceView(context, row))
}

/** The holding of a wallet that a client asks for. */
export interface HoldingQuery {
  /** Default: what the wallet holds, if that is one. */
  readonly valueType: string | undefined
  /** Default: the chain on which it holds it; of an empty wallet its first one. */
  readonly transferType: string | undefined
}

/**
 * One holding of a wallet: of one value type on one chain; zero when there is none. What is not named has to be clear from what the wallet
 * holds.
 * @throws OutlayError `not_found` for an unknown address, `balance_not_available` for an external one,
 *   `transfer_type_not_supported` for a chain that the wallet is not on, and `invalid_request` when the wallet has several such holdings.
 */
export async function findBalance(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  addressId: string,
  wanted: HoldingQuery,
): Promise<BalanceResource> {
  const address = await findAddress(executor, context, accountId, addressId)
  if (address === undefined) throw new OutlayError('not_found', 'The address does not exist.')
  checkHolding(context, address, wanted)
  const values = [[accountId], wanted.valueType ?? null, wanted.transferType ?? null, addressId]
  const [row, another] = await run(executor, context, selectBalances, values)
  if (row !== undefined && another !== undefined) {
    const field = wanted.valueType === undefined ? '?value_type' : '?transfer_type'
    throw new OutlayError('invalid_request', 'The wallet has several such holdings; name one.', { field })
  }
  return balanceView(context, row ?? emptyHolding(context, address, wanted))
}

function checkHolding(context: ServiceContext, address: AddressRow, { valueType, transferType }: HoldingQuery): void {
  if (address.type !== 'internal') {
    throw new OutlayError('balance_not_available', 'Only custodial wallets have balances; this address is external.')
  }
  if (valueType !== undefined && context.catalog.valueType(valueType)?.name !== valueType) {
    throw new OutlayError('unknown_value_type', 'The value type does not exist.', { field: '?value_type' })
  }
  if (transferType !== undefined && !address.transferTypes.includes(transferType)) {
    const message = 'The wallet is not on such a chain; its transfer_types say on which it is.'
    throw new OutlayError('transfer_type_not_supported', message, { field: '?transfer_type' })
  }
}

const readHolding = rowDecoder('balance', {
  addressId: Column.text,
  address: Column.text,
  valueType: Column.text,
  transferType: Column.text,
  available: Column.text,
  total: Column.text,
})

/** What a wallet holds of one value type on one chain. */
type Holding = ReturnType<typeof readHolding>

function emptyHolding(
  context: ServiceContext,
  { id, address, transferTypes }: AddressRow,
  wanted: HoldingQuery,
): Holding {
  const transferType = wanted.transferType ?? transferTypes[0] ?? ''
  const moves = context.catalog.valueTypes.find(({ name }) => context.catalog.pairs(name, transferType))
  const valueType = wanted.valueType ?? moves?.name ?? ''
  return { addressId: id, address, valueType, transferType, available: '0', total: '0' }
}

/** Amounts have at least two decimals. */
function balanceView(context: ServiceContext, row: Holding): BalanceResource {
  const scale = Math.min(2, context.catalog.valueType(row.valueType)?.scale ?? 2)
  const amount = (text: string): Amount => {
    const fraction = text.split('.')[1]?.length ?? 0
    const value = Amount.format({ value: text, currency: row.valueType }, Math.max(scale, fraction))
    return { value, currency: row.valueType }
  }
  return {
    address: { id: row.addressId, address: row.address },
    balance: amount(row.total),
    available: amount(row.available),
    value_type: row.valueType,
    transfer_type: row.transferType,
  }
}

const selectBalances = statement(
  'balance_list',
  `select l.address_id, a.address, l.value_type, l.transfer_type,
          trim_scale(l.available)::text as available, trim_scale(l.available + l.held)::text as total
     from unnest($1::text[]) with ordinality as o (account_id, place)
     join {{schema}}.ledger_account l on l.account_id = o.account_id
     join {{schema}}.address a on a.id = l.address_id
    where l.kind = 'custodial'
      and ($2::text is null or l.value_type = $2)
      and ($3::text is null or l.transfer_type = $3)
      and ($4::text is null or l.address_id = $4)
    order by o.place, l.address_id, l.id`,
  readHolding,
)
