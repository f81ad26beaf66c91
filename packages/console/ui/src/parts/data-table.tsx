import type { ReactNode } from 'react'

/** One column of a table. */
export interface Column<T> {
  readonly name: string
  readonly cell: (row: T) => ReactNode
  readonly align?: 'end' | undefined
  /** Shown only where there is room. */
  readonly isWide?: boolean | undefined
}

/** A table of rows that the server has sorted and cut into pages. */
export function DataTable<T>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  readonly caption: string
  readonly columns: readonly Column<T>[]
  readonly rows: readonly T[]
  readonly keyOf: (row: T) => string
}) {
  const classOf = ({ align, isWide }: Column<T>) =>
    [align === 'end' ? 'end' : '', isWide === true ? 'wide' : ''].join(' ').trim()
  return (
    <div className="table-frame">
      <table>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.name} className={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
