/** Writes a dashboard of Grafana from metrics: panels by kind and label, so that a new instrument has its panels. */
import type { Metric } from './metrics.ts'

/** A dashboard, as Grafana imports it. */
export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly panels: readonly Panel[]
  readonly [member: string]: unknown
}

/** One panel or the title of a row. */
export interface Panel {
  readonly title: string
  readonly type: 'row' | 'timeseries'
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
  readonly [member: string]: unknown
}

/** What a dashboard shows. */
export interface DashboardContent {
  readonly uid: string
  readonly title: string
  readonly description: string
  /** Every scrape has it, so the choice of jobs is made from it. */
  readonly presence: string
  readonly metrics: readonly Metric[]
}

/** Makes a dashboard with two variables: the data source, and the jobs of the scrape. */
export function makeDashboard({ uid, title, description, presence, metrics }: DashboardContent): Dashboard {
  return {
    uid,
    title,
    description,
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: '30s',
    tags: ['outlay'],
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        {
          name: 'job',
          type: 'query',
          label: 'Job',
          datasource: source,
          query: { query: `label_values(${presence}, job)`, refId: 'job' },
          includeAll: true,
          allValue: '.+',
          multi: true,
          refresh: 2,
        },
      ],
    },
    panels: place(metrics.map((metric) => ({ title: metric.description, panels: panelsOf(metric) }))),
  }
}

const source = { type: 'prometheus', uid: '$datasource' }

const selector = '{job=~"$job"}'

const rate = (series: string): string => `rate(${series}${selector}[$__rate_interval])`

interface Content {
  readonly title: string
  readonly unit: string
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}

function panelsOf(metric: Metric): readonly Content[] {
  const { name, kind, unit } = metric
  if (kind === 'gauge') return [gauge(metric)]
  if (kind === 'counter') return metric.labels.map((by) => counter(name, by))
  const shares = [0.5, 0.95, 0.99].map((share) => ({
    expr: `histogram_quantile(${share}, sum by (le) (${rate(`${name}_bucket`)}))`,
    legendFormat: `p${share * 100}`,
  }))
  const rates = metric.labels.map((by) => counter(`${name}_count`, by))
  return [{ title: `${metric.instrument}: percentiles`, unit: unitOf(unit), targets: shares }, ...rates]
}

/** Every engine reads the same value from the database, so the largest is the newest. */
function gauge({ name, labels, unit, instrument }: Metric): Content {
  const by = labels.length === 0 ? '' : ` by (${labels.join(', ')})`
  const legendFormat = labels.length === 0 ? instrument : labels.map((label) => `{{${label}}}`).join(' ')
  return { title: instrument, unit: unitOf(unit), targets: [{ expr: `max${by} (${name}${selector})`, legendFormat }] }
}

function counter(series: string, by: string): Content {
  const expr = `sum by (${by}) (${rate(series)})`
  return { title: `${series}, a second by ${by}`, unit: 'cps', targets: [{ expr, legendFormat: `{{${by}}}` }] }
}

const unitOf = (unit: string): string => (unit === 's' ? 's' : 'short')

const width = 8
const height = 8

/** A row for each metric, three panels beside each other. */
function place(rows: readonly { readonly title: string; readonly panels: readonly Content[] }[]): readonly Panel[] {
  const placed: Panel[] = []
  let y = 0
  for (const { title, panels } of rows) {
    placed.push({
      id: placed.length + 1,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: 24, h: 1 },
      panels: [],
    })
    y += 1
    for (const [index, { unit, targets, ...panel }] of panels.entries()) {
      const gridPos = { x: (index % 3) * width, y: y + Math.floor(index / 3) * height, w: width, h: height }
      placed.push({
        id: placed.length + 1,
        type: 'timeseries',
        ...panel,
        datasource: source,
        gridPos,
        fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
        targets: targets.map((target, at) => ({ refId: 'ABC'.charAt(at), datasource: source, ...target })),
      })
    }
    y += Math.ceil(panels.length / 3) * height
  }
  return placed
}
