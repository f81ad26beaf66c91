import { Id, type TransferPage, type TransferQuery } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { statements } from '../database/statement.ts'
import { readTransfer, transferColumns } from './transfer-row.ts'

const texts = {
  // Each transfer by itself: a join may read all of them.
  find: `select f.next_id, ${transferColumns} from {{schema}}.find_transfers($1::jsonb, $2) f
    left join lateral (select t.* from {{schema}}.transfer t where t.id = f.id offset 0) t on true order by f.id desc nulls last`,
} as const

/** How far the clock behind an id may be from that of the database, in milliseconds. */
const clockSlackMs = 3_600_000

/** Makes the search for transfers on a driver. */
export function createFind<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return async (query: TransferQuery, tx?: Tx): Promise<TransferPage> => {
    const values = [JSON.stringify(writeQuery(query)), query.limit]
    const rows = await (tx === undefined ? driver.query(sql.find, values) : driver.execute(tx, sql.find, values))
    const [last] = rows.slice(-1)
    return {
      transfers: rows.filter((row) => readPlace(row).id !== null).map(readTransfer),
      nextCursor: last === undefined ? null : readPlace(last).nextId,
    }
  }
}

const readPlace = rowDecoder('page', { id: Column.nullable(Column.text), nextId: Column.nullable(Column.text) })

const idAt = (moment: string | undefined, slackMs: number): string | undefined =>
  moment === undefined ? undefined : Id.lowest(new Date(Math.max(0, Date.parse(moment) + slackMs)))

/** What is undefined does not get into the JSON. */
function writeQuery(query: TransferQuery) {
  return {
    account_id: query.accountId,
    gateway: query.gateway,
    stage: query.stage,
    status: query.status,
    reason: query.reason,
    amount: query.amount,
    currency: query.currency,
    payee: query.payee,
    batch_id: query.batchId,
    metadata: query.metadata,
    created_after: query.createdAfter,
    created_before: query.createdBefore,
    from_id: idAt(query.createdAfter, -clockSlackMs),
    to_id: idAt(query.createdBefore, clockSlackMs),
    cursor: query.cursor,
  }
}
