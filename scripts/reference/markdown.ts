/** One generated page. */
export interface Page {
  /** File name without its ending. */
  readonly name: string
  readonly title: string
  /** One line about it, for the index. */
  readonly summary: string
  readonly body: string
}

/** Text of a cell: on one line, with nothing that ends the cell. */
const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', '\\|').trim()

/** Formats a table; empty when there are no rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), `|${head.map(() => ' --- |').join('')}`, ...rows.map(line)].join('\n')
}

/** Text in code font; a dash when empty. */
export const code = (text: string | null | undefined): string =>
  text === undefined || text === null || text === '' ? '–' : `\`${text}\``

/** A sentence as a phrase within a list: without its full stop, and lower case at the beginning unless that is an acronym. */
export const phraseOf = (sentence: string): string =>
  sentence.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase())

/** Joins the non-empty parts, with a blank line between them. */
export const paragraphs = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join('\n\n')

/** A transition from one state to another. */
export interface Arrow {
  readonly from: string
  readonly to: string
  readonly when?: string | undefined
}

/** Draws states: they start at the first one, and end where no transition leaves. */
export function stateDiagram(states: readonly string[], arrows: readonly Arrow[], start = ''): string {
  // A semicolon would end the statement.
  const label = (text = '') => (text === '' ? '' : `: ${text.replaceAll(';', ',')}`)
  const ends = states.filter((state) => !arrows.some(({ from }) => from === state))
  return [
    '```mermaid',
    'stateDiagram-v2',
    `  [*] --> ${states[0]}${label(start)}`,
    ...arrows.map(({ from, to, when }) => `  ${from} --> ${to}${label(when)}`),
    ...ends.map((state) => `  ${state} --> [*]`),
    '```',
  ].join('\n')
}

/** The arrows of a table of states and their next states. */
export const arrowsOf = (transitions: Readonly<Record<string, readonly string[]>>): readonly Arrow[] =>
  Object.entries(transitions).flatMap(([from, next]) => next.map((to) => ({ from, to })))

/** A time in the largest unit that needs no fraction. */
export function duration(ms: number): string {
  for (const [unit, size] of [
    ['days', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1_000],
  ] as const) {
    if (ms >= size && ms % size === 0) return `${ms / size} ${ms / size === 1 && unit === 'days' ? 'day' : unit}`
  }
  return `${ms} ms`
}
