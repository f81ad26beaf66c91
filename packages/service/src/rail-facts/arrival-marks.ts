import { Column, rowDecoder } from '@outlay/core/adapter'
import type { ServiceContext, Tx } from '../context.ts'
import { run, statement } from '../database/statement.ts'
import type { RailFact } from '../rails/port.ts'
import { imadOf } from './arrival.ts'

// A wire is that of one transfer, whoever its rail names: what one transfer was credited, or is held for it, is credited to no other by itself.

/** What names one incoming wire of a rail: the rail's id of it, or its IMAD. */
export interface ArrivalMark {
  readonly kind: 'source' | 'imad'
  readonly mark: string
}

/** A report that a wire has arrived, and the transfer that it names. */
export interface NewArrival {
  readonly factId: string
  readonly transferId: string
  readonly rail: string
  readonly marks: readonly ArrivalMark[]
}

/** A mark of a report that another transfer has. */
export interface ReusedMark extends ArrivalMark {
  readonly factId: string
  /** Id of that transfer, which may be one of another account. */
  readonly owner: string
}

/** Longest mark that is compared. Nothing names a wire by more. */
const longest = 255

/** What names the incoming wire of a report. IMADs are compared without white space and in any case. */
export function arrivalMarksOf({ source }: Pick<RailFact, 'source'>): readonly ArrivalMark[] {
  const named = [
    { kind: 'source', mark: source?.transactionId ?? '' },
    { kind: 'imad', mark: imadOf(source) ?? '' },
  ] as const
  return named.filter(({ mark }) => mark !== '' && mark.length <= longest)
}

/**
 * Writes whose wires these are, each that of the first one, and resolves with the marks that another transfer has. One statement; none where nothing
 * has a mark. Waits for another transaction that writes the same.
 */
export async function claimArrivals(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  arrivals: readonly NewArrival[],
): Promise<readonly ReusedMark[]> {
  const given = toRows(arrivals)
  if (given.length === 0) return []
  return await run(tx, context, claim, [JSON.stringify(given.map((one, position) => ({ ...one, position })))])
}

/** Resolves with the marks that another transfer has, and writes none. One statement; none where nothing has a mark. */
export async function findArrivals(
  tx: Tx,
  context: Pick<ServiceContext, 'schema'>,
  arrivals: readonly NewArrival[],
): Promise<readonly ReusedMark[]> {
  const given = toRows(arrivals)
  return given.length === 0 ? [] : await run(tx, context, find, [JSON.stringify(given)])
}

const toRows = (arrivals: readonly NewArrival[]) =>
  arrivals.flatMap(({ factId, transferId, rail, marks }) =>
    marks.map(({ kind, mark }) => ({ fact_id: factId, rail, kind, mark, transfer_id: transferId })),
  )

const readMark = rowDecoder('mark', {
  factId: Column.text,
  kind: Column.word<ArrivalMark['kind']>(),
  mark: Column.text,
  owner: Column.text,
})

const find = statement(
  'arrival_mark_find',
  `select g.fact_id, g.kind, g.mark, m.transfer_id as owner
     from jsonb_to_recordset($1::jsonb) as g(fact_id text, rail text, kind text, mark text, transfer_id text)
    cross join lateral (
      select o.transfer_id from {{schema}}.arrival_mark o
       where o.rail = g.rail and o.kind = g.kind and o.mark = g.mark and o.transfer_id <> g.transfer_id
      offset 0
    ) m`,
  readMark,
)

const claim = statement(
  'arrival_mark_claim',
  'select fact_id, kind, mark, owner from {{schema}}.arrival_mark_claim($1::jsonb)',
  readMark,
)
