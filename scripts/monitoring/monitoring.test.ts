import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { instruments } from '../../packages/core/src/engine/instruments.ts'
import type { Instrument } from '../../packages/core/src/ports/telemetry.ts'
import { openTelemetry } from '../../packages/opentelemetry/src/open-telemetry.ts'
import { prometheus } from '../../packages/opentelemetry/src/prometheus.ts'
import { root } from '../packages.ts'
import { tested } from './alert-tests.ts'
import { engineAlerts, serviceAlerts } from './alerts.ts'
import { dashboards, writeMonitoring } from './files.ts'
import { engineMetrics, metricOf, seriesOf, serviceMetrics } from './metrics.ts'
import { fillVariables, readQuery } from './promql.ts'

const labelsOf = new Map([...engineMetrics, ...serviceMetrics].flatMap(seriesOf))
const alerts = [...engineAlerts, ...serviceAlerts]
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** What a query names and no instrument has. */
function findUnknown(expr: string): readonly string[] {
  const { selectors, groups } = readQuery(fillVariables(expr))
  return selectors.flatMap(({ series, labels }) => {
    const known = labelsOf.get(series)
    if (known === undefined) return [series]
    const added = ['job', 'instance']
    return [...labels, ...groups].filter((label) => !known.includes(label) && !added.includes(label))
  })
}

describe('dashboards and alarms', () => {
  it('are written from the instruments of now', () => {
    for (const [path, text] of writeMonitoring()) expect(read(path), `${path}: npx -y pnpm@12 monitoring`).toBe(text)
  })

  it('name only metrics and labels that exist', () => {
    const exprs = dashboards.flatMap(({ panels }) => panels).flatMap(({ targets = [] }) => targets)
    expect(exprs.length).toBeGreaterThan(40)
    for (const { expr } of [...exprs, ...alerts]) expect([expr, findUnknown(expr)]).toEqual([expr, []])
  })

  it('show every metric', () => {
    const shown = dashboards.flatMap(({ panels }) => panels).flatMap(({ targets = [] }) => targets)
    const series = new Set(
      shown.flatMap(({ expr }) => readQuery(fillVariables(expr)).selectors.map((one) => one.series)),
    )
    for (const metric of [...engineMetrics, ...serviceMetrics])
      expect([metric.name, seriesOf(metric).some(([name]) => series.has(name))]).toEqual([metric.name, true])
  })

  it('place their panels beside each other and not over each other', () => {
    for (const { panels } of dashboards) {
      const taken = new Set<string>()
      for (const { gridPos } of panels) {
        const { x, y, w, h } = gridPos as Record<'x' | 'y' | 'w' | 'h', number>
        for (let column = x; column < x + w; column += 1)
          for (let line = y; line < y + h; line += 1) {
            expect(taken.has(`${column} ${line}`)).toBe(false)
            taken.add(`${column} ${line}`)
          }
        expect(x + w).toBeLessThanOrEqual(24)
      }
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    }
  })
})

describe('the check of a query', () => {
  it('finds a metric, a matched label and a grouped label that no instrument has, and what is no query', () => {
    expect(findUnknown('rate(outlay_submit_outcomes[5m])')).toEqual(['outlay_submit_outcomes'])
    expect(findUnknown('outlay_transfer_backlog{outlay_account_id="a"}')).toEqual(['outlay_account_id'])
    expect(findUnknown('sum by (outlay_rail) (outlay_transfer_backlog)')).toEqual(['outlay_rail'])
    expect(() => readQuery('sum by (')).toThrow('no query')
  })
})

describe('metrics', () => {
  it('have no label with an id', () => {
    for (const [name, labels] of labelsOf)
      expect([name, labels.filter((label) => /_id$|account/.test(label))]).toEqual([name, []])
  })

  it('have the names and labels that the exporter of OpenTelemetry gives them', async () => {
    const { meterProvider, handle } = prometheus()
    const telemetry = openTelemetry({ meterProvider, gaugeIntervalMs: 0 })
    const all = Object.values(instruments).flatMap((one): readonly Instrument[] =>
      'name' in one ? [one] : Object.values(one),
    )
    for (const instrument of all) {
      const attributes = Object.fromEntries((instrument.attributes ?? []).map((name) => [name, 'x']))
      if (instrument.kind === 'counter') telemetry.count(instrument, 1, attributes)
      if (instrument.kind === 'histogram') telemetry.record(instrument, 1, attributes)
      if (instrument.kind === 'gauge')
        telemetry.gauges([instrument], async () => [{ instrument, value: 1, attributes }])
    }
    const text = await (await handle(new Request('http://host/metrics'))).text()
    const scraped = new Map<string, readonly string[]>()
    for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm))
      scraped.set(
        name,
        [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label),
      )
    scraped.delete('target_info')
    const wanted = all.map(metricOf).flatMap(seriesOf)
    expect(Object.fromEntries(scraped)).toEqual(Object.fromEntries(wanted))
  })
})

describe('alarms', () => {
  const guide = read('docs/guides/operating.md')

  it('have a sentence that says what to do, and a finding of the doctor where it has one', () => {
    for (const { alert, runbook, doctor, summary } of alerts) {
      expect(alert).toMatch(/^Outlay[A-Za-z]+$/)
      expect([alert, /[.!]$/.test(runbook), /[.!]$/.test(summary)]).toEqual([alert, true, true])
      if (doctor !== null) expect([alert, guide.includes(`\`${doctor}\``)]).toEqual([alert, true])
    }
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length)
  })

  it('have a test of their own', () => {
    expect(tested).toEqual(alerts.map(({ alert }) => alert))
  })

  const promtool = process.env['OUTLAY_PROMTOOL'] ?? ['/usr/bin/promtool', '/usr/local/bin/promtool'].find(existsSync)
  it.skipIf(promtool === undefined)(
    'are what promtool reads, and fire in its tests (needs promtool of Prometheus)',
    () => {
      const folder = mkdtempSync(join(tmpdir(), 'outlay-promtool-'))
      onTestFinished(() => rmSync(folder, { recursive: true }))
      const copy = join(folder, 'kubernetes.yaml')
      // The promtool of Debian was built without Kubernetes. The rules are checked before.
      const text = read('deploy/prometheus/kubernetes.yaml').replace('rule_files: [alerts.yaml]\n', '')
      writeFileSync(
        copy,
        text.replace('kubernetes_sd_configs:\n      - role: pod', 'static_configs:\n      - targets: []'),
      )
      // Dashboards are no files of Prometheus: their queries are, as rules.
      const queries = join(folder, 'dashboards.yaml')
      const asked = dashboards.flatMap(({ panels }) => panels).flatMap(({ targets = [] }) => targets)
      const rules = asked.map(({ expr }, index) => ({ record: `query_${index}`, expr: fillVariables(expr) }))
      writeFileSync(queries, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }))
      for (const [command, kind, path] of [
        ['check', 'rules', queries],
        ['check', 'rules', join(root, 'deploy/prometheus/alerts.yaml')],
        ['test', 'rules', join(root, 'deploy/prometheus/alerts.test.yaml')],
        ['check', 'config', join(root, 'deploy/prometheus/prometheus.yaml')],
        ['check', 'config', copy],
      ] as const) {
        const { status, stdout, stderr } = spawnSync(promtool ?? '', [command, kind, path], { encoding: 'utf8' })
        expect([path, status, `${stdout}${stderr}`]).toEqual([path, 0, expect.stringContaining('SUCCESS')])
      }
    },
  )
})
