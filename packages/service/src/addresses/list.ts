import type { ServiceContext, Tx } from '../context.ts'
import {
  type FoundRows,
  mostExamined,
  pageStatement,
  runPage,
  startOf,
  withExaminedPage,
} from '../database/examined-page.ts'
import { type Executor, run, statement } from '../database/statement.ts'
import { parameterError } from '../http/problem.ts'
import { type AddressRow, addressColumns, normalAddress, readAddress } from './addresses.ts'

/** Filters of a list of addresses. */
export interface AddressFilters {
  readonly type?: string | undefined
  /** Canonical name; exact. */
  readonly transferType?: string | undefined
  /** On-chain address or Canton party. */
  readonly address?: string | undefined
}

/** A page of a list of addresses. */
export interface AddressQuery {
  readonly filters: AddressFilters
  readonly direction: 'forward' | 'backward'
  /** Position to start from, not included: the id of an address, or what {@link positionInClient} gives. */
  readonly position?: string | undefined
  readonly limit: number
}

/**
 * Reads addresses of an account, oldest first. In the direction `backward`, the newest before the position come first. Wallets and a single
 * address are found by an index; for another filter, the page examines a bounded number: see {@link FoundRows}.
 */
export async function listAddresses(
  executor: Executor | Tx,
  context: ServiceContext,
  accountId: string,
  { filters, direction, position, limit }: AddressQuery,
): Promise<FoundRows<AddressRow>> {
  const { all, ...examined } = accountLists[direction]
  const whose = [accountId, position ?? startOf(orders[direction]), limit]
  if (!hasFilters(filters)) return { rows: await run(executor, context, all, whose) }
  return await runPage(executor, context, examined[indexOf(filters)], [...whose, ...valuesOf(filters)])
}

/** Reads the same of all accounts of a client: those of its first account, then those of its next one. */
export async function listClientAddresses(
  executor: Executor | Tx,
  context: ServiceContext,
  clientId: string,
  { filters, direction, position, limit }: AddressQuery,
): Promise<FoundRows<AddressRow>> {
  const start = startOf(orders[direction])
  const [accountId, id] = position === undefined ? [start, start] : readPosition(position)
  const values = [clientId, accountId, limit, ...valuesOf(filters), id]
  const { all, ...examined } = clientLists[direction]
  return await runPage(executor, context, hasFilters(filters) ? examined[indexOf(filters)] : all, values)
}

const idLength = 26

/** @throws OutlayError `invalid_request` for a cursor of a release that sorted this list otherwise. */
function readPosition(position: string): readonly [accountId: string, id: string] {
  if (position.length !== 2 * idLength) throw parameterError('page[after]', 'The cursor is not one of this list.')
  return [position.slice(0, idLength), position.slice(idLength)]
}

/** The position of an address in the list of a client. */
export const positionInClient = ({ accountId, id }: AddressRow): string => `${accountId}${id}`

const hasFilters = (filters: AddressFilters): boolean => valuesOf(filters).some((one) => one !== null)

const valuesOf = ({ type, transferType, address }: AddressFilters) => [
  type ?? null,
  transferType ?? null,
  address === undefined ? null : normalAddress(address),
]

/** What an index finds of the filtered addresses. */
function indexOf({ type, address }: AddressFilters): 'atAddress' | 'wallets' | 'filtered' {
  if (address !== undefined) return 'atAddress'
  return type === 'internal' ? 'wallets' : 'filtered'
}

/** The conditions of the indexes, on `o`. */
const indexed = {
  filtered: 'true',
  wallets: `o.type = 'internal'`,
  atAddress: `o.address_normal = $6 and o.address_normal <> ''`,
} as const

// The last one is there so that every statement has every parameter.
const passes = `($4::text is null or w.type = $4)
        and ($5::text is null or $5 = any (w.transfer_types))
        and ($6::text is null or w.address_normal = $6)`

const filterColumns = 'o.id, o.account_id, o.type, o.transfer_types, o.address_normal'

const selectPage = (order: string) => `select ${addressColumns}, is_edge
         from page
         join {{schema}}.address on id = row_id
        order by is_edge, ${order}`

/** The lists of an account in one direction. */
function accountListsOf(suffix: string, isBeyond: string, order: 'asc' | 'desc') {
  const list = (name: string, index: keyof typeof indexed) => {
    const page = withExaminedPage({
      examined: (what) =>
        `select ${what} from {{schema}}.address o
          where o.account_id = $1 and ${indexed[index]} and o.id ${isBeyond} order by o.id ${order}`,
      columns: filterColumns,
      filters: passes,
      order: `w.id ${order}`,
      limit: '$3',
    })
    return pageStatement(`${name}${suffix}`, `${page} ${selectPage(`id ${order}`)}`, readAddress)
  }
  return {
    all: statement(
      `address_list${suffix}`,
      `select ${addressColumns} from {{schema}}.address where account_id = $1 and id ${isBeyond} order by id ${order} limit $3`,
      readAddress,
    ),
    filtered: list('address_list_filtered', 'filtered'),
    wallets: list('address_list_wallets', 'wallets'),
    atAddress: list('address_list_at_address', 'atAddress'),
  } as const
}

/** The lists of a client in one direction: what is left of the account of the position, then its other accounts. */
function clientListsOf(suffix: string, comparison: '<' | '>', order: 'asc' | 'desc') {
  const list = (name: string, index: keyof typeof indexed, most = String(mostExamined)) => {
    const inAccount = `from {{schema}}.address o where ${indexed[index]} and o.account_id =`
    const examined = (what: string) =>
      `select ${what}
         from (
           (select ${filterColumns} ${inAccount} $2 and o.id ${comparison} $7
             order by o.id ${order} limit ${most})
           union all
           (select o.*
              from {{schema}}.client_account c
             cross join lateral (
               select ${filterColumns} ${inAccount} c.account_id order by o.id ${order} limit ${most}
             ) o
             where c.client_id = $1 and c.account_id ${comparison} $2
             order by c.account_id ${order}, o.id ${order}
             limit ${most})
         ) o
        order by o.account_id ${order}, o.id ${order}`
    const page = withExaminedPage({
      examined,
      columns: filterColumns,
      filters: passes,
      order: `w.account_id ${order}, w.id ${order}`,
      limit: '$3',
    })
    return pageStatement(`${name}${suffix}`, `${page} ${selectPage(`account_id ${order}, id ${order}`)}`, readAddress)
  }
  return {
    // Without a filter, nothing is examined beyond the page.
    all: list('address_list_of_client', 'filtered', '$3'),
    filtered: list('address_list_of_client_filtered', 'filtered'),
    wallets: list('address_list_of_client_wallets', 'wallets'),
    atAddress: list('address_list_of_client_at_address', 'atAddress'),
  } as const
}

const orders = { forward: 'asc', backward: 'desc' } as const

const accountLists = {
  forward: accountListsOf('', '> $2', 'asc'),
  backward: accountListsOf('_back', '< $2', 'desc'),
} as const

const clientLists = {
  forward: clientListsOf('', '>', 'asc'),
  backward: clientListsOf('_back', '<', 'desc'),
} as const
