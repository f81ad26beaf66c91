import { Column, rowDecoder } from '@outlay/core/adapter'
import type { PoolClient } from 'pg'
import { type Executor, type Row, run, type Statement, statement } from './statement.ts'

/** Most rows that one page of a filtered list examines: what no index finds for a filter must not read a whole history. */
export const mostExamined = 2_000

/** Rows that a list has found. */
export interface FoundRows<T> {
  readonly rows: readonly T[]
  /** The last row that was examined, when {@link mostExamined} rows were and there may be more; it may be among the found ones. */
  readonly edge?: T | undefined
}

/** A page of a filtered list. Parameters are numbered by the caller. */
export interface ExaminedPage {
  /** Selects these columns of `o`, the rows of the list from the position on, in its order, which an index gives. */
  readonly examined: (columns: string) => string
  /** What the filters and the order need of `o`, its id included. */
  readonly columns: string
  /** Other tables that the filters need, joined to the examined rows `w`. */
  readonly joins?: string | undefined
  /** The filters, on `w` and what was joined. */
  readonly filters: string
  /** The order of the list, on `w`. */
  readonly order: string
  /** The parameter for the number of rows. */
  readonly limit: string
}

/**
 * The beginning of a statement that reads a page: `page` has, as `row_id`, the ids that pass the filters among the next {@link mostExamined} rows
 * of the list. When these do not fill it, it has the last one that was examined too, with `is_edge`. Rows and edge are of one snapshot, so
 * that a row that is written meanwhile is neither skipped nor repeated.
 */
export function withExaminedPage({ examined, columns, joins = '', filters, order, limit }: ExaminedPage): string {
  return `with found as materialized (
       select w.id
         from (${examined(columns)} limit ${mostExamined}) w ${joins}
        where ${filters}
        order by ${order}
        limit ${limit}
     ), page as (
       select f.id as row_id, false as is_edge from found f
       union all
       select e.id, true
         from (${examined('o.id')} limit 1 offset ${mostExamined - 1}) e
        where (select count(*) from found) < ${limit}
     )`
}

/**
 * The position before all rows of a list, in the direction of its reader: every id is between '' and 'Z'. It is a value and no `coalesce` of the
 * statement, which may leak to row-level security, so that no index would serve the comparison.
 */
export const startOf = (order: 'asc' | 'desc'): string => (order === 'asc' ? '' : 'Z')

/** Makes a statement whose rows have the column `is_edge` beside those of `read`. */
export function pageStatement<T>(name: string, text: string, read: (row: Row) => T): Statement<PageRow<T>> {
  return statement(name, text, (row) => ({ row: read(row), ...readEdge(row) }))
}

interface PageRow<T> {
  readonly row: T
  readonly isEdge: boolean
}

const readEdge = rowDecoder('page', { isEdge: Column.boolean })

/** Runs a statement of {@link pageStatement}. */
export async function runPage<T>(
  executor: Executor | PoolClient,
  context: { readonly schema: string },
  one: Statement<PageRow<T>>,
  values: readonly unknown[],
): Promise<FoundRows<T>> {
  // Unnamed, so that it is planned for these values: a plan for any filter may read all that another one has.
  const rows = await run(executor, { schema: context.schema, prepared: false }, one, values)
  return {
    rows: rows.filter(({ isEdge }) => !isEdge).map(({ row }) => row),
    edge: rows.find(({ isEdge }) => isEdge)?.row,
  }
}
