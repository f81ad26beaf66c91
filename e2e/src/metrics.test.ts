import { createServer } from 'node:http'
import { createProbes, nodeListener } from '@outlay/adapters-pg/probes'
import { listen } from '@outlay/example-sandbox/server'
import { openTelemetry } from '@outlay/opentelemetry'
import { type Prometheus, prometheus } from '@outlay/opentelemetry/prometheus'
import { startSandbox } from '@outlay/service/sandbox'
import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'
import { dashboards } from '../../scripts/monitoring/files.ts'
import { engineMetrics, seriesOf, serviceMetrics } from '../../scripts/monitoring/metrics.ts'
import { fillVariables } from '../../scripts/monitoring/promql.ts'
import { migrateHost } from './host.ts'
import { findPrometheus, startPrometheus } from './prometheus-server.ts'
import { openStageHost, seedClient, setStage, settleAll } from './stage.ts'

/** Every series of a scrape with the labels that it had. */
async function scrape({ handle }: Prometheus): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const text = await (await handle(new Request('http://host/metrics'))).text()
  const series = new Map<string, Set<string>>()
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = series.get(name) ?? new Set()
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label)
    series.set(name, known)
  }
  series.delete('target_info')
  return series
}

describe('metrics of a host and a service at work', async () => {
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase()
  const running = new AsyncDisposableStack()
  afterAll(() => running.disposeAsync())
  const [ofHost, ofService] = [prometheus(), prometheus()]
  const telemetryOf = ({ meterProvider }: Prometheus) => openTelemetry({ meterProvider, gaugeIntervalMs: 0 })
  const sandbox = running.use(await startSandbox({ databaseUrl: services.url, telemetry: telemetryOf(ofService) }))
  const stage = await setStage(sandbox.url, await sandbox.seedClient(seedClient))
  running.defer(() => stage.client.close())
  const host = openStageHost(stage, await hosts.another(), sandbox.url, { telemetry: telemetryOf(ofHost) })
  running.defer(() => host.close())
  let failures = 0
  host.engine.subscribe('fails once', ['transfer.completed'], async () => {
    failures += 1
    if (failures === 1) throw new TypeError('secret')
  })
  const payout = stage.payout()
  await host.transaction((tx) => host.engine.transfers.enqueue(tx, payout))
  await host.transaction((tx) => host.engine.transfers.enqueue(tx, stage.payout()))
  await host.engine.start()
  await settleAll(stage, host)
  await waitUntil(() => failures >= 2)

  it('have the names and labels that dashboards and alarms are made from, and nothing else', async () => {
    const [engine, service] = [new Map(engineMetrics.flatMap(seriesOf)), new Map(serviceMetrics.flatMap(seriesOf))]
    for (const [found, known] of [
      [await scrape(ofHost), engine],
      [await scrape(ofService), new Map([...engine, ...service])],
    ] as const) {
      for (const [name, labels] of found)
        expect([name, known.has(name), [...labels].filter((label) => !known.get(name)?.includes(label))]).toEqual([
          name,
          true,
          [],
        ])
    }
    const present = await scrape(ofHost)
    for (const name of [
      'outlay_submit_outcomes_total',
      'outlay_settle_duration_count',
      'outlay_handler_failures_total',
      'outlay_transfer_backlog',
      'http_client_request_duration_bucket',
    ])
      expect([name, present.has(name)]).toEqual([name, true])
  })

  it('name no account, transfer, key or text of an error', async () => {
    const text = await (await ofHost.handle(new Request('http://host/metrics'))).text()
    expect(text).toContain('error_type="TypeError"')
    for (const secret of [stage.accountId, String(payout.idempotencyKey), 'secret']) expect(text).not.toContain(secret)
  })

  const program = await findPrometheus()
  it.skipIf(program === undefined)(
    'answer every query of the dashboards in a Prometheus (needs prometheus)',
    async () => {
      const listener = createProbes(host.engine, { metrics: ofHost.handle }).listener
      const servers = [createServer(listener), createServer(nodeListener(ofService.handle))] as const
      const [payroll, bank] = [running.use(await listen(servers[0])), running.use(await listen(servers[1]))]
      const jobs = { payroll: new URL(payroll.url).host, bank: new URL(bank.url).host }
      await using server = await startPrometheus(program ?? '', jobs)
      // A rate needs two scrapes, and something in between.
      await waitUntil(async () => {
        await host.transaction((tx) => host.engine.transfers.enqueue(tx, stage.payout()))
        await settleAll(stage, host)
        return (await server.query('sum(increase(outlay_submit_outcomes_total{job="payroll"}[1m])) > 0')).length > 0
      })
      const queries = dashboards.flatMap(({ panels }) => panels).flatMap(({ targets = [] }) => targets)
      const empty: string[] = []
      for (const { expr } of queries) {
        const found = await server.query(fillVariables(expr, '1m'))
        if (found.length === 0) empty.push(expr)
        if (process.env['OUTLAY_SHOW'] !== undefined)
          for (const { metric, value } of found) console.log(expr, JSON.stringify(metric), value)
      }
      // What did not happen here: registrations of counterparties, screenings, webhooks, exceptions of rails.
      expect(empty.filter((expr) => !/outlay_(register|screening|webhook|rail)_/.test(expr))).toEqual([])
    },
  )
})
