import type { QuoteSide, QuoteStatus } from '@outlay/core'
import { Column, type RowDecoder, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { startOf } from '../database/examined-page.ts'
import { type Executor, listOf, run, statement } from '../database/statement.ts'

/** A row of the table `quote`. */
export interface QuoteRow {
  readonly id: string
  readonly account_id: string
  readonly source_value_type: string
  readonly source_value: string
  readonly destination_value_type: string
  readonly destination_value: string
  readonly rate: string
  readonly fixed_side: QuoteSide
  /** The desk's own. */
  readonly reference: string
  /** The transfer that has used it. */
  readonly transfer_id: string | null
  readonly created_at: Date
  readonly expires_at: Date
}

/** A quote as the API returns it. */
export interface QuoteResource {
  readonly id: string
  readonly status: QuoteStatus
  /** How many of the destination's value type one of the source's becomes. */
  readonly rate: string
  readonly fixed_side: QuoteSide
  readonly source_amount: { readonly value: string; readonly currency: string }
  readonly destination_amount: { readonly value: string; readonly currency: string }
  readonly created_at: string
  readonly expires_at: string
  readonly transfer_id?: string
}

/** Writes a quote as the API returns it at `now`. */
export function quoteView(row: QuoteRow, now: Date): QuoteResource {
  const hasExpired = row.expires_at.getTime() <= now.getTime()
  return {
    id: row.id,
    status: row.transfer_id !== null ? 'used' : hasExpired ? 'expired' : 'open',
    rate: row.rate,
    fixed_side: row.fixed_side,
    source_amount: { value: row.source_value, currency: row.source_value_type },
    destination_amount: { value: row.destination_value, currency: row.destination_value_type },
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    ...(row.transfer_id === null ? {} : { transfer_id: row.transfer_id }),
  }
}

type Schema = Pick<ServiceContext, 'schema'>

/** Writes a new quote. */
export async function insertQuote(tx: Tx, context: Schema, row: QuoteRow): Promise<void> {
  await run(tx, context, insert, [JSON.stringify(row)])
}

/** One quote of an account; `undefined` for an unknown id and for one of another account. */
export async function findQuote(
  executor: Executor | Tx,
  context: Schema,
  accountId: string,
  quoteId: string,
): Promise<QuoteRow | undefined> {
  const [row] = await run(executor, context, select, [accountId, quoteId])
  return row
}

/** Quotes of an account from a position on: older ones, newest first, or newer ones, oldest first. */
export function listQuotes(
  executor: Executor | Tx,
  context: Schema,
  accountId: string,
  query: {
    readonly direction: 'forward' | 'backward'
    readonly position: string | undefined
    readonly limit: number
  },
): Promise<readonly QuoteRow[]> {
  const { direction, position, limit } = query
  return run(executor, context, lists[direction], [
    accountId,
    position ?? startOf(direction === 'forward' ? 'desc' : 'asc'),
    limit,
  ])
}

/** Deletes unused quotes that expired before `before`. */
export async function pruneQuotes(executor: Executor, context: Schema, before: Date): Promise<void> {
  for (let isMore = true; isMore; ) {
    const [deleted] = await run(executor, context, prune, [before, pruneSize])
    isMore = deleted?.count === pruneSize
  }
}

/** Number of quotes that one statement deletes. */
const pruneSize = 1_000

const readQuote: RowDecoder<QuoteRow> = rowDecoder('quote', {
  id: Column.text,
  account_id: Column.text,
  source_value_type: Column.text,
  source_value: Column.text,
  destination_value_type: Column.text,
  destination_value: Column.text,
  rate: Column.text,
  fixed_side: Column.word<QuoteSide>(),
  reference: Column.text,
  transfer_id: Column.nullable(Column.text),
  created_at: Column.date,
  expires_at: Column.date,
})

const insert = statement(
  'quote_insert',
  `insert into {{schema}}.quote (${listOf(readQuote)})
   select ${listOf(readQuote)} from jsonb_populate_record(null::{{schema}}.quote, $1::jsonb)`,
)

const select = statement(
  'quote_select',
  `select ${listOf(readQuote)} from {{schema}}.quote where account_id = $1 and id = $2`,
  readQuote,
)

const list = (name: string, isBeyond: string, order: 'asc' | 'desc') =>
  statement(
    name,
    `select ${listOf(readQuote)} from {{schema}}.quote
      where account_id = $1 and id ${isBeyond}
      order by id ${order}
      limit $3`,
    readQuote,
  )

const lists = {
  forward: list('quote_list', '< $2', 'desc'),
  backward: list('quote_list_back', '> $2', 'asc'),
} as const

const prune = statement(
  'quote_prune',
  `with old as materialized (
     select id from {{schema}}.quote where transfer_id is null and expires_at < $1 order by expires_at limit $2
   ), deleted as (
     delete from {{schema}}.quote q using old where q.id = old.id and q.transfer_id is null returning true
   )
   select (select count(*) from old)::int as count, (select count(*) from deleted)::int as deleted`,
  rowDecoder('quote', { count: Column.integer }),
)
