import { type ContestResult, judge, nameOf, quotients } from './contest.ts'
import { figureOf } from './measurement.ts'
import { type Spread, summarize } from './spread.ts'

/** A workload's results as a run writes them to JSON. */
export interface ChartedRun {
  readonly workload: string
  readonly rounds: number
  readonly results: readonly ContestResult[]
}

/** One bar: a median, the range of the rounds, and its label. */
interface Bar {
  readonly label: string
  readonly spread: Spread
  readonly note: string
  /** Position of the mark. */
  readonly mark?: number | undefined
}

const width = 860
const labelWidth = 300
const barWidth = 380
const rowHeight = 24

const style = `text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.head { font-weight: 600; } .faint { fill: #59636e; font-size: 12px; }
.ratio { fill: #0a7f5a; } .figure { fill: #4078c0; } .reach { stroke: #1f2328; stroke-width: 1.5; } .mark { stroke: #cf222e; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .faint { fill: #9198a1; } .ratio { fill: #3fb68b; } .figure { fill: #6ea8fe; }
  .reach { stroke: #e6edf3; } .mark { stroke: #ff7b72; }
}`

/**
 * Draws a run as an SVG: for each contest its ratios first, then the contest's figure of every contender. A bar ends at the
 * median, a line spans the lowest and the highest round, and a mark across a ratio stands at its aim.
 */
export function drawRun(run: ChartedRun, environment: readonly string[]): string {
  const parts: string[] = []
  let y = 28
  const text = (content: string, kind: string, x = 12) => {
    parts.push(`<text x="${x}" y="${y}" class="${kind}">${escapeXml(content)}</text>`)
    y += rowHeight
  }
  text(
    `${run.workload}: ${run.rounds} ${run.rounds === 1 ? 'round' : 'rounds'}, medians with the lowest and highest`,
    'head',
  )
  for (const line of environment.slice(0, 3)) text(line, 'faint')
  for (const result of run.results) {
    y += 10
    for (const [title, kind, bars] of [
      [`${result.name}, ratios`, 'ratio', ratioBars(result)],
      [`${result.name}, ${result.figure}`, 'figure', figureBars(result)],
    ] as const) {
      if (bars.length === 0) continue
      text(title, 'head')
      const scale = barWidth / Math.max(...bars.flatMap(({ spread, mark = 0 }) => [spread.max, mark]), Number.MIN_VALUE)
      for (const bar of bars) {
        parts.push(drawBar(bar, y - 12, scale, kind))
        y += rowHeight
      }
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img" aria-labelledby="title description">
<title id="title">${escapeXml(run.workload)}</title>
<desc id="description">${escapeXml(describeRun(run))}</desc>
<style>${style}</style>
${parts.join('\n')}
</svg>
`
}

/** The ratios of a run in words, for readers who cannot see the chart. */
export function describeRun(run: ChartedRun): string {
  return run.results
    .map(
      (result) =>
        `${result.name}: ${ratioBars(result)
          .map(({ label, note }) => `${label} ${note}`)
          .join('; ')}.`,
    )
    .join(' ')
}

function ratioBars(result: ContestResult): readonly Bar[] {
  return result.ratios.flatMap((ratio) => {
    const values = quotients(result, ratio)
    if (values.length === 0) return []
    const spread = summarize(values)
    const verdict = judge(ratio, spread.median)
    const note = `${spread.median.toFixed(2)}${verdict === '' ? '' : ` (${verdict})`}`
    return [{ label: nameOf(result, ratio), spread, note, mark: ratio.aim ?? ratio.atMost }]
  })
}

function figureBars(result: ContestResult): readonly Bar[] {
  return Object.entries(result.measurements).flatMap(([label, rounds]) => {
    const values = rounds.map((round) => figureOf(round, result.figure)).filter((value) => value !== undefined)
    if (values.length === 0) return []
    const spread = summarize(values)
    return [{ label, spread, note: spread.median.toFixed(spread.median >= 100 ? 0 : 2) }]
  })
}

function drawBar({ label, spread, note, mark }: Bar, y: number, scale: number, kind: string): string {
  const at = (value: number) => (labelWidth + value * scale).toFixed(1)
  const reach = `<line x1="${at(spread.min)}" x2="${at(spread.max)}" y1="${y + 8}" y2="${y + 8}" class="reach"/>`
  const across =
    mark === undefined ? '' : `<line x1="${at(mark)}" x2="${at(mark)}" y1="${y - 1}" y2="${y + 17}" class="mark"/>`
  return [
    `<text x="${labelWidth - 8}" y="${y + 12}" text-anchor="end">${escapeXml(label)}</text>`,
    `<rect x="${labelWidth}" y="${y}" width="${(spread.median * scale).toFixed(1)}" height="16" class="${kind}"/>`,
    `${reach}${across}`,
    `<text x="${labelWidth + barWidth + 10}" y="${y + 12}" class="faint">${escapeXml(note)}</text>`,
  ].join('')
}

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
