import type { Balance, TransferTypeName, ValueTypeName } from '@outlay/core'
import { decodePage, encodeQuery, type Rows, toRows } from '../pagination.ts'
import { path } from '../request.ts'
import { decodeBalance } from '../wire/balance.ts'
import type { WithRaw } from '../wire/json.ts'
import type { CallOptions, ResourceContext } from './resource.ts'

/** Filters of balances. They match exactly and are combined with AND. */
export interface BalanceFilters {
  readonly valueType?: ValueTypeName | undefined
  readonly transferType?: TransferTypeName | undefined
}

/** Holdings of custodial wallets. External addresses have none. Specification: "GET /balances". */
export interface BalancesResource {
  /** The balances of one account. */
  list(accountId: string, filters?: BalanceFilters, options?: CallOptions): Promise<Rows<WithRaw<Balance>>>
  /** The balances of every account that this account's credentials may read. */
  listAll(accountId: string, filters?: BalanceFilters, options?: CallOptions): Promise<Rows<WithRaw<Balance>>>
  /** One wallet's holdings of one token on one chain; `undefined` when the account has no such address. */
  get(
    accountId: string,
    addressId: string,
    filters: { readonly valueType: ValueTypeName; readonly transferType: TransferTypeName },
    options?: CallOptions,
  ): Promise<WithRaw<Balance> | undefined>
}

/** Makes the balances resource of a client. */
export function createBalances({ requester, catalog }: ResourceContext): BalancesResource {
  const decode = (value: unknown) => decodeBalance(value, catalog)
  const list = async (accountId: string, where: string, filters: BalanceFilters, options: CallOptions) => {
    const call = { accountId, method: 'GET', path: where + encodeFilters(filters) } as const
    return toRows(decodePage(await requester.perform(call, options.signal), 'balances', decode))
  }
  return {
    list: (accountId, filters = {}, options = {}) =>
      list(accountId, path`/accounts/${accountId}/balances`, filters, options),
    listAll: (accountId, filters = {}, options = {}) => list(accountId, '/balances', filters, options),
    async get(accountId, addressId, filters, options = {}) {
      const where = path`/accounts/${accountId}/addresses/${addressId}/balance` + encodeFilters(filters)
      const body = await requester.find({ accountId, method: 'GET', path: where }, options.signal)
      return body === undefined ? undefined : decode(body)
    },
  }
}

const encodeFilters = ({ valueType, transferType }: BalanceFilters): string =>
  encodeQuery({ value_type: valueType, transfer_type: transferType })
