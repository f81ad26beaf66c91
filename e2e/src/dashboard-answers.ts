import type { Sample } from './prometheus-server.ts'

/** What Prometheus answered to one query of a dashboard. */
export interface Answer {
  readonly dashboard: string
  readonly panel: string
  readonly expr: string
  readonly found: readonly Sample[]
}

/** Writes a Markdown page with the series and values of every panel, by dashboard. */
export function writeAnswers(answers: readonly Answer[]): string {
  const sections = [...new Set(answers.map(({ dashboard }) => dashboard))].map((dashboard) => {
    const rows = answers.filter((answer) => answer.dashboard === dashboard).map(writeRow)
    return [`## ${dashboard}`, '', '| panel | query | answer |', '| --- | --- | --- |', ...rows].join('\n')
  })
  return `${[introduction, ...sections].join('\n\n')}\n`
}

const introduction = `# What the dashboards show

What a Prometheus answers to each query of the dashboards in \`deploy/grafana\`: an engine and a service at work, one handler that fails
once, scraped twice a second. Rates and percentiles are those of one minute, durations are in seconds. No counterparty is registered, no webhook
is sent and no fact of a rail is refused in this run, so those panels are empty. Made by \`OUTLAY_DASHBOARD_ANSWERS=<this page> npx -y pnpm@12
test:e2e e2e/src/metrics.test.ts\`, which needs \`prometheus\` on the path and fails where another panel is empty.`

function writeRow({ panel, expr, found }: Answer): string {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const zeros = found.filter(({ value }) => Number(value) === 0).length
  const series = found.flatMap(({ metric, value }) => {
    const labels = Object.entries(metric).map(([name, label]) => `${name}=${label}`)
    return Number(value) === 0 ? [] : [[...labels, Number(Number(value).toPrecision(3))].join(' ')]
  })
  if (zeros > 0) series.push(`${zeros} at 0`)
  return `| ${panel} | \`${cell(expr)}\` | ${series.length === 0 ? 'no series' : cell(series.join('<br>'))} |`
}
