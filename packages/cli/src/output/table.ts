/** A column of a table: its heading, and the cell of a row. */
export type Column<Row> = readonly [heading: string, cell: (row: Row) => string | number | null]

/** Longest cell, in characters; a longer one ends with an ellipsis. Why a connection failed fits with its code. */
const maxCell = 120

/**
 * Text that is safe on a terminal: control characters, which text of another system may contain, become visible escapes instead
 * of moving the cursor or recolouring other lines.
 */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0)
    return `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** Formats rows as lines with aligned columns under a heading. Null is a dash. */
export function formatTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const cells = rows.map((row) => columns.map(([, cell]) => shorten(printable(String(cell(row) ?? '-')))))
  const lines = [columns.map(([heading]) => heading.toUpperCase()), ...cells]
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)))
  return lines
    .map((line) =>
      line
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats names and values in two columns; null values are left out. */
export function formatFields(fields: readonly (readonly [name: string, value: string | number | null])[]): string {
  const shown = fields.filter(([, value]) => value !== null)
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${printable(String(value))}`).join('\n')
}

/** `1 transfer`, `2 transfers`. */
export const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

function shorten(text: string): string {
  return text.length > maxCell ? `${text.slice(0, maxCell - 1)}…` : text
}
