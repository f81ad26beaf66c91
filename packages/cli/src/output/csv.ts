import type { Column } from './table.ts'

/** A cell as text. What a spreadsheet would run as a formula gets an apostrophe: keys and details are text of others. */
const cellOf = (value: string | number | null): string => {
  const text = String(value ?? '')
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Formats rows as CSV by RFC 4180, with a heading. Null is an empty cell. */
export function formatCsv<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const lines = rows.map((row) => columns.map(([, cell]) => cellOf(cell(row))))
  return [columns.map(([heading]) => heading), ...lines].map((line) => line.join(',')).join('\r\n')
}
