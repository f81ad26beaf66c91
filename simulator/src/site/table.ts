/** Lays rows out in columns, the first to the left and the others to the right, with a line below the head. */
export function layOut(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((cell, at) => Math.max(cell.length, ...rows.map((row) => (row[at] ?? '').length)))
  const line = (row: readonly string[]) =>
    widths.map((width, at) => (at === 0 ? (row[at] ?? '').padEnd(width) : (row[at] ?? '').padStart(width))).join('  ')
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].map((text) =>
    text.trimEnd(),
  )
}
