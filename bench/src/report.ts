import { type ContestResult, judge, nameOf, quotients, type Ratio } from './contest.ts'
import { figureOf, type Measurement } from './measurement.ts'
import { summarize } from './spread.ts'

/** Formats a contest as Markdown: the ratios first, then the figures of every contender. */
export function reportContest(result: ContestResult): string {
  return [
    `### ${result.name}`,
    '',
    ...table(
      ['ratio', 'median', 'lowest', 'highest', 'aim'],
      result.ratios.map((ratio) => ratioRow(result, ratio)),
    ),
    '',
    ...table(
      [
        'contender',
        'per second',
        'lowest',
        'highest',
        'server µs',
        'client µs',
        'p50 ms',
        'p99 ms',
        'WAL bytes',
        'write tx',
        'statements',
      ],
      Object.entries(result.measurements).map(([name, rounds]) => contenderRow(name, rounds)),
    ),
    ...figuresTable(result),
    ...Object.entries(result.references).map(([name, value]) => `\n${name}: ${Math.round(value)} ${result.figure}`),
    '',
  ].join('\n')
}

/** The additional figures of this workload: medians with the lowest and the highest. */
function figuresTable(result: ContestResult): readonly string[] {
  const contenders = Object.entries(result.measurements)
  const names = [
    ...new Set(contenders.flatMap(([, rounds]) => rounds.flatMap(({ figures = {} }) => Object.keys(figures)))),
  ]
  if (names.length === 0) return []
  const cell = (rounds: readonly Measurement[], name: string) => {
    const values = rounds.map((round) => figureOf(round, name)).filter((value) => value !== undefined)
    if (values.length === 0) return ''
    const { median, min, max } = summarize(values)
    return `${shorten(median)} (${shorten(min)} to ${shorten(max)})`
  }
  const rows = contenders.map(([contender, rounds]) => [contender, ...names.map((name) => cell(rounds, name))])
  return ['', ...table(['contender', ...names], rows)]
}

/** A number with as many digits as matter. */
const shorten = (value: number) => value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2)

function ratioRow(result: ContestResult, ratio: Ratio): readonly string[] {
  const { median, min, max } = summarize(quotients(result, ratio))
  return [nameOf(result, ratio), median.toFixed(2), min.toFixed(2), max.toFixed(2), judge(ratio, median)]
}

function contenderRow(name: string, rounds: readonly Measurement[]): readonly string[] {
  const median = (pick: (measurement: Measurement) => number) => summarize(rounds.map(pick)).median
  const known = (pick: (measurement: Measurement) => number | null, digits: number) => {
    const values = rounds.map(pick).filter((value) => value !== null)
    return values.length === 0 ? '' : summarize(values).median.toFixed(digits)
  }
  const rate = summarize(rounds.map((measurement) => measurement.perSecond))
  return [
    name,
    ...[rate.median, rate.min, rate.max].map((value) => value.toFixed(0)),
    known((measurement) => measurement.serverCpuUs, 0),
    median((measurement) => measurement.clientCpuUs).toFixed(0),
    known((measurement) => measurement.p50Ms, 1),
    known((measurement) => measurement.p99Ms, 1),
    median((measurement) => measurement.walBytes).toFixed(0),
    median((measurement) => measurement.transactions).toFixed(2),
    median((measurement) => measurement.statements).toFixed(2),
  ]
}

/** A Markdown table whose columns line up: the first to the left, the others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const widths = head.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)]
}
