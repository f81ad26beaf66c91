import type { Column } from './table.ts'

/** A cell as text. What a spreadsheet would run as a formula gets an apostrophe: keys and details are text of others. */
const cellOf = (value: string | number | null): string => {
  const text = String(value ?? '')
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text
  // Also what separates cells elsewhere: behind it another cell would begin.
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Formats rows as CSV by RFC 4180, with a heading. Null is an empty cell. */
export const formatCsv = <Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string =>
  [columns.map(([heading]) => heading).join(','), ...rows.map((row) => formatCsvRow(row, columns))].join('\r\n')

/** One row of such a file, without the end of its line. */
export const formatCsvRow = <Row>(row: Row, columns: readonly Column<Row>[]): string =>
  columns.map(([, cell]) => cellOf(cell(row))).join(',')
