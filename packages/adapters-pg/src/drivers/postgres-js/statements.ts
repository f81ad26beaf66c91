import { OutlayError } from '@outlay/core'
import { types } from 'pg'
import type { RowList, Sql, TransactionSql } from 'postgres'
import { probeTransaction } from '../../database/open-transaction.ts'
import type { Row, Statement } from '../../database/statement.ts'
import { inline } from '../literals.ts'

/** Runs a statement of the engine in a transaction of postgres.js. */
export type Execute = (tx: unknown, statement: Statement, values: readonly unknown[]) => Promise<readonly Row[]>

/**
 * Makes the function that runs the engine's statements in transactions of an instance, whatever types and transforms the host has.
 *
 * @throws OutlayError `invalid_request` for a transform that changes whole rows, or names in a way that cannot be undone
 */
export function openExecute(sql: Sql): Execute {
  const nameOf = undoColumns(sql)
  return async (tx, statement, values) => {
    if (!isTransaction(tx)) throw new OutlayError('no_transaction', notFromBegin, { field: 'tx' })
    let rows: readonly Row[] = []
    await probeTransaction(async (probe) => {
      // One message: where no transaction is open, Postgres refuses the probe, and with it the statement.
      rows = readRows(await tx.unsafe(`${probe}; ${inline(statement, values)}`).raw(), nameOf)
    })
    return rows
  }
}

const notFromBegin =
  'tx is no transaction of postgres.js; pass the one that `sql.begin` gives (a reserved connection is refused also after its "begin")'

/** Only a transaction has savepoints: the instance and a reserved connection have none. */
const isTransaction = (tx: unknown): tx is TransactionSql =>
  typeof (tx as { readonly savepoint?: unknown } | undefined)?.savepoint === 'function'

/** Names in the form of those that the engine's statements give. */
const names = ['id', 'account_id', 'stored_position', 'has_open_returns']

/** Gives the function that undoes a host's transform of the names of columns. */
function undoColumns(sql: Sql): (name: string) => string {
  const { column, row } = sql.options.transform
  const { from = (name) => name, to = (name) => name } = column
  if (row.from !== undefined || names.some((name) => to(from(name)) !== name)) {
    const message =
      'has a transform of rows, or one of columns without its reverse `to`; make the driver on an instance of postgres.js without it'
    throw OutlayError.fromIssues([{ field: 'sql', code: 'invalid_request', message }])
  }
  return column.from === undefined ? (name) => name : to
}

/** Reads the rows of the last statement of a message as node-postgres would: by the types that Postgres names. */
function readRows(results: unknown, nameOf: (name: string) => string): readonly Row[] {
  const isMany = Array.isArray(results) && Array.isArray(results[0]) && 'command' in results[0]
  const result = (isMany ? results.at(-1) : results) as RowList<(Buffer | null)[][]>
  // A statement without rows has no columns.
  const parsers = (result.statement?.columns ?? []).map(({ name, type }) => ({
    name: nameOf(name),
    parse: types.getTypeParser(type, 'text') as (text: string) => unknown,
  }))
  // After the loss of a connection, postgres.js counts on, and leaves holes at the beginning of the next result.
  return [...result].filter(Boolean).map((values) =>
    Object.fromEntries(
      parsers.map(({ name, parse }, index) => {
        const value = values[index] ?? null
        return [name, value === null ? null : parse(value.toString())]
      }),
    ),
  )
}
