import type { Instrument } from '@outlay/core'
import { expect, it } from 'vitest'
import { openTelemetry } from './open-telemetry.ts'
import { prometheus, prometheusHandler } from './prometheus.ts'

const instrument = (name: string, boundaries?: readonly number[]): Instrument => ({
  ...{ name, unit: 's', description: `About ${name}.` },
  boundaries,
})
const scrape = new Request('http://host/metrics')
const read = async (answer: Promise<Response>) => {
  const response = await answer
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('target_info'))
  return { status: response.status, type: response.headers.get('content-type'), lines }
}

it('writes counters, histograms and gauges as Prometheus reads them', async () => {
  const { meterProvider, handle } = prometheus()
  const telemetry = openTelemetry({ meterProvider })
  telemetry.count(instrument('outlay.submit.outcomes'), 2, { 'outlay.rail': 'ach_credit', 'outlay.outcome': undefined })
  telemetry.record(instrument('outlay.submit.duration', [1, 5]), 3, {})
  const gauge = instrument('outlay.transfer.backlog')
  telemetry.gauges([gauge], async () => [{ instrument: gauge, value: 7, attributes: { 'outlay.stage': 'a "b"' } }])
  const { status, type, lines } = await read(handle(scrape))
  expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  expect(lines.filter((line) => !line.startsWith('#'))).toEqual([
    'outlay_submit_outcomes_total{outlay_rail="ach_credit"} 2',
    'outlay_submit_duration_count 1',
    'outlay_submit_duration_sum 3',
    'outlay_submit_duration_bucket{le="1"} 0',
    'outlay_submit_duration_bucket{le="5"} 1',
    'outlay_submit_duration_bucket{le="+Inf"} 1',
    'outlay_transfer_backlog{outlay_stage="a \\"b\\""} 7',
  ])
  expect(lines).toContain('# TYPE outlay_submit_outcomes_total counter')
})

it('leaves out gauges that are not read in time, and keeps the rest', async () => {
  const { meterProvider, handle } = prometheus({ timeoutMs: 1 })
  const telemetry = openTelemetry({ meterProvider })
  telemetry.count(instrument('outlay.counted'), 1, {})
  telemetry.gauges([instrument('outlay.hanging')], () => new Promise(() => {}))
  const { status, lines } = await read(handle(scrape))
  expect([status, lines.includes('outlay_counted_total 1')]).toEqual([200, true])
  expect(lines.join('\n')).not.toMatch(/^outlay_hanging/m)
})

it('a gauge that cannot be read any more, or has lost a value, is not there, while a counter stays', async () => {
  const { meterProvider, handle } = prometheus()
  const telemetry = openTelemetry({ meterProvider, gaugeIntervalMs: 0 })
  const gauge = instrument('outlay.depth')
  telemetry.count(instrument('outlay.counted'), 1, {})
  const reads = [['a', 'b'], ['a'], undefined, ['a']]
  telemetry.gauges([gauge], async () => {
    const names = reads.shift()
    if (names === undefined) throw new Error('The database is away.')
    return names.map((name) => ({ instrument: gauge, value: 7, attributes: { name } }))
  })
  const values = async () => (await read(handle(scrape))).lines.filter((line) => !line.startsWith('#'))
  const counted = 'outlay_counted_total 1'
  expect(await values()).toEqual([counted, 'outlay_depth{name="a"} 7', 'outlay_depth{name="b"} 7'])
  expect(await values()).toEqual([counted, 'outlay_depth{name="a"} 7'])
  expect(await values()).toEqual([counted])
  expect(await values()).toEqual([counted, 'outlay_depth{name="a"} 7'])
})

it('a storm of scrapes shares one collection', async () => {
  let collections = 0
  const { meterProvider, handle } = prometheus()
  const telemetry = openTelemetry({ meterProvider, gaugeIntervalMs: 0 })
  const gauge = instrument('outlay.read')
  telemetry.gauges([gauge], async () => {
    collections += 1
    return [{ instrument: gauge, value: collections }]
  })
  const answers = await Promise.all(Array.from({ length: 1_000 }, () => read(handle(scrape))))
  expect([collections, new Set(answers.map(({ lines }) => lines.at(-1)))]).toEqual([1, new Set(['outlay_read 1'])])
  expect((await read(handle(scrape))).lines.at(-1)).toBe('outlay_read 2')
})

it('answers a reader that fails without its text, and what is no read with 405', async () => {
  const handle = prometheusHandler({ collect: () => Promise.reject(new Error('secret')) })
  expect(await read(handle(scrape))).toMatchObject({ status: 500, lines: ['The metrics could not be collected.'] })
  expect((await handle(new Request('http://host/metrics', { method: 'POST' }))).status).toBe(405)
  expect(() => prometheus({ timeout: 1 } as object)).toThrow('timeout')
})
