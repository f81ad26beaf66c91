import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { quoteIdentifier, statements } from '../database/statement.ts'

const texts = {
  unfinished_moves: `select d.account_id, d.to_node, d.state, (extract(epoch from clock_timestamp() - d.departed_at) * 1000)::double precision as age_ms
    from {{schema}}.departed_account d
    where d.state not in ('here', 'departed') and d.departed_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
    order by d.state = 'expecting', d.departed_at limit 100`,
} as const

/** An account whose move has not ended: it is on no node, or where it is `expecting` here, on its own node as ever while rows of it are copied. */
export interface UnfinishedMove {
  readonly accountId: string
  /** The node that it goes to; where it goes back, the one that it was leaving. */
  readonly toNode: string
  /** Where it stands on this node. */
  readonly state: string
  /** Since it began on this node, in milliseconds. */
  readonly ageMs: number
}

/** Finds accounts of a database whose move began at least `olderThanMs` ago and has not ended, those on no node first and then the oldest, up to a hundred. */
export async function findUnfinishedMoves<Tx>(
  driver: Driver<Tx>,
  schema: string,
  olderThanMs: number,
): Promise<readonly UnfinishedMove[]> {
  const sql = statements({ schema: quoteIdentifier(schema) }, texts)
  return (await driver.query(sql.unfinished_moves, [olderThanMs])).map(readMove)
}

const readMove = rowDecoder('move', {
  accountId: Column.text,
  toNode: Column.text,
  state: Column.text,
  ageMs: Column.anyNumber,
})
