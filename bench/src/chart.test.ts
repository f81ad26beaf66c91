import { expect, test } from 'vitest'
import { type ChartedRun, describeRun, drawRun } from './chart.ts'
import type { Measurement } from './measurement.ts'

const rate = (perSecond: number): Measurement => ({
  operations: 1,
  elapsedMs: 1,
  perSecond,
  clientCpuUs: 0,
  serverCpuUs: null,
  walBytes: 0,
  transactions: 1,
  statements: 1,
  p50Ms: null,
  p99Ms: null,
})

const run: ChartedRun = {
  workload: 'drain',
  rounds: 3,
  results: [
    {
      name: 'one & only',
      ratios: [{ of: 'ours', to: 'theirs <x>', aim: 2 }],
      references: {},
      figure: 'per second',
      measurements: { ours: [rate(100), rate(200), rate(300)], 'theirs <x>': [rate(100), rate(100), rate(100)] },
    },
  ],
}

test('a bar ends at the median, its line spans the rounds, and the mark stands at the aim', () => {
  const svg = drawRun(run, ['a machine'])
  // The longest thing is the highest round, 3.00, at the end of the 380 for a bar, behind 300 of labels.
  expect(svg).toContain('<rect x="300" y="98" width="253.3" height="16" class="ratio"/>')
  expect(svg).toContain('<line x1="426.7" x2="680.0" y1="106" y2="106" class="reach"/>')
  expect(svg).toContain('<line x1="553.3" x2="553.3" y1="97" y2="115" class="mark"/>')
})

test('a chart holds no markup of names, says where it was measured, and is legible in the dark', () => {
  const svg = drawRun(run, ['a machine'])
  expect(svg).not.toContain('<x>')
  expect(svg).toContain('one &amp; only')
  expect(svg).toContain('a machine')
  expect(svg).toContain('prefers-color-scheme: dark')
})

test('the ratios are there in words too', () => {
  expect(describeRun(run)).toBe('one & only: ours / theirs <x> 2.00 (≥ 2 met).')
  expect(drawRun(run, [])).toContain(
    '<desc id="description">one &amp; only: ours / theirs &lt;x&gt; 2.00 (≥ 2 met).</desc>',
  )
})
