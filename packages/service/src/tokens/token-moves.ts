import type { ServiceContext, Tx } from '../context.ts'
import { startOf } from '../database/examined-page.ts'
import { type Executor, run, type Statement, statement } from '../database/statement.ts'
import type { RailFlow } from '../rails/port.ts'
import { readTransfer, type TransferRow } from '../transfers/row.ts'
import { withReturns } from '../transfers/transfers.ts'

/** What transfers do to tokens: dollars become tokens, tokens become dollars, or tokens move. */
export const tokenMoves = ['mints', 'burns', 'transfers'] as const

/** One of them. */
export type TokenMove = (typeof tokenMoves)[number]

const flows: Readonly<Record<TokenMove, readonly RailFlow[]>> = {
  mints: ['onramp'],
  burns: ['offramp'],
  transfers: ['swap', 'payout'],
}

/** A page of the transfers of some accounts that do one thing to tokens. */
export interface TokenMoveQuery {
  readonly move: TokenMove
  readonly accountIds: readonly string[]
  /** `forward` returns older rows, newest first; `backward` returns newer ones, oldest first. */
  readonly direction: 'forward' | 'backward'
  /** Id at which the rows start, not included. */
  readonly position: string | undefined
  readonly limit: number
}

/** Transfers of some accounts that do one thing to tokens. */
export function listTokenMoves(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  { move, accountIds, direction, position, limit }: TokenMoveQuery,
): Promise<readonly TransferRow[]> {
  return run(executor, context, lists[direction], [
    accountIds,
    flows[move],
    position ?? startOf(direction === 'forward' ? 'desc' : 'asc'),
    limit,
  ])
}

/** One of them; `undefined` when there is none. */
export async function findTokenMove(
  executor: Executor | Tx,
  context: Pick<ServiceContext, 'schema'>,
  { move, accountIds }: Pick<TokenMoveQuery, 'move' | 'accountIds'>,
  transferId: string,
): Promise<TransferRow | undefined> {
  const [row] = await run(executor, context, selectOne, [accountIds, flows[move], transferId])
  return row
}

// A page has rows of as many accounts as it has rows, at most: of those whose next row is nearest. The index gives the next row of each account
// and flow, and then a page of these few.
const list = (name: string, isBeyond: string, order: 'asc' | 'desc'): Statement<TransferRow> => {
  const beyond = (of: string, limit: string) =>
    `(select o.id from {{schema}}.transfer o
       where o.account_id = ${of}.account_id and o.flow = ${of}.flow and o.id ${isBeyond}
       order by o.id ${order}
       limit ${limit})`
  return statement(
    name,
    `${withReturns}
       join (
         select m.id
           from (
             select g.account_id, g.flow
               from (select a.account_id, f.flow from unnest($1::text[]) as a (account_id) cross join unnest($2::text[]) as f (flow)) g
              cross join lateral ${beyond('g', '1')} n
              order by n.id ${order}
              limit $4
           ) s
          cross join lateral ${beyond('s', '$4')} m
          order by m.id ${order}
          limit $4
       ) page on page.id = t.id
      order by t.id ${order}`,
    readTransfer,
  )
}

const lists: Readonly<Record<TokenMoveQuery['direction'], Statement<TransferRow>>> = {
  forward: list('token_move_list', '< $3', 'desc'),
  backward: list('token_move_list_back', '> $3', 'asc'),
}

const selectOne = statement(
  'token_move_select',
  `${withReturns} where t.account_id = any ($1) and t.flow = any ($2) and t.id = $3`,
  readTransfer,
)
