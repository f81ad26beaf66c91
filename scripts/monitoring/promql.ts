/** Reads queries of Prometheus with its own grammar. */
import { parser } from '@prometheus-io/lezer-promql'

/** What a query asks for. */
export interface Asked {
  /** Each series with the labels that are matched in it. */
  readonly selectors: readonly { readonly series: string; readonly labels: readonly string[] }[]
  /** Labels that results are grouped by. */
  readonly groups: readonly string[]
}

/** A query of a panel as Prometheus gets it: with values in place of Grafana's variables. */
export const fillVariables = (expr: string, window = '5m'): string =>
  expr.replaceAll('$__rate_interval', window).replaceAll('$job', '.+')

/**
 * Finds the series and labels of a query.
 * @throws Error when it is no query.
 */
export function readQuery(expr: string): Asked {
  const selectors: { series: string; labels: string[] }[] = []
  const groups: string[] = []
  const cursor = parser.parse(expr).cursor()
  do {
    const text = expr.slice(cursor.from, cursor.to)
    if (cursor.type.isError) throw new Error(`This is no query, at ${cursor.from}: ${expr}`)
    const parent = cursor.node.parent?.name
    if (cursor.name === 'Identifier' && parent === 'VectorSelector') selectors.push({ series: text, labels: [] })
    if (cursor.name !== 'LabelName') continue
    if (parent === 'GroupingLabels') groups.push(text)
    else selectors.at(-1)?.labels.push(text)
  } while (cursor.next())
  return { selectors, groups }
}
