import type { ServiceContext, Tx } from '../context.ts'
import { type Executor, run, type Statement, statement } from '../database/statement.ts'
import { type AddressRow, addressColumns, normalAddress, readAddress } from './addresses.ts'

/** Filters of a list of addresses. */
export interface AddressQuery {
  /** One account; `undefined` for all accounts of the client. */
  readonly accountId?: string | undefined
  readonly clientId: string
  readonly type?: string | undefined
  /** Canonical name; exact. */
  readonly transferType?: string | undefined
  /** On-chain address or Canton party. */
  readonly address?: string | undefined
  readonly direction: 'forward' | 'backward'
  /** Id to start from, not included. */
  readonly position?: string | undefined
  readonly limit: number
}

/** Reads addresses, oldest first. In the direction `backward`, the newest before the position come first. */
export function listAddresses(
  executor: Executor | Tx,
  context: ServiceContext,
  query: AddressQuery,
): Promise<readonly AddressRow[]> {
  return run(executor, context, lists[query.direction], [
    query.clientId,
    query.accountId ?? null,
    query.type ?? null,
    query.transferType ?? null,
    query.address === undefined ? null : normalAddress(query.address),
    query.position ?? null,
    query.limit,
  ])
}

const list = (name: string, comparison: '<' | '>', order: 'asc' | 'desc'): Statement<AddressRow> =>
  statement(
    name,
    `select ${addressColumns}
       from {{schema}}.address
      where account_id in (
              select account_id from {{schema}}.client_account
               where client_id = $1 and ($2::text is null or account_id = $2)
            )
        and ($3::text is null or type = $3)
        and ($4::text is null or $4 = any (transfer_types))
        and ($5::text is null or address_normal = $5)
        and ($6::text is null or id ${comparison} $6)
      order by id ${order}
      limit $7`,
    readAddress,
  )

const lists: Readonly<Record<AddressQuery['direction'], Statement<AddressRow>>> = {
  forward: list('address_list_forward', '>', 'asc'),
  backward: list('address_list_backward', '<', 'desc'),
}
