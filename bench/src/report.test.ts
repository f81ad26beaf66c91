import { expect, test } from 'vitest'
import type { ContestResult } from './contest.ts'
import type { Measurement } from './measurement.ts'
import { reportContest } from './report.ts'

const rate = (perSecond: number, p50Ms: number | null): Measurement => ({
  operations: 1,
  elapsedMs: 1,
  perSecond,
  clientCpuUs: 0,
  serverCpuUs: 431.6,
  walBytes: 850.4,
  transactions: 1,
  statements: 4,
  p50Ms,
  p99Ms: p50Ms,
})

const result: ContestResult = {
  name: '16 clients',
  ratios: [
    { of: 'ours', to: 'theirs', aim: 2 },
    { of: 'ours', to: 'limit', aim: 0.7 },
  ],
  references: { limit: 500 },
  figure: 'per second',
  measurements: {
    ours: [rate(210, 1), rate(400, 3), rate(300, 2)],
    theirs: [rate(100, null), rate(100, null), rate(100, null)],
  },
}

test('the ratios come first and say whether the aim is met', () => {
  const lines = reportContest(result).split('\n')
  expect(lines[0]).toBe('### 16 clients')
  expect(lines[4]).toMatch(/^\| ours \/ theirs \| +3\.00 \| +2\.10 \| +4\.00 \| +≥ 2 met \|$/)
  expect(lines[5]).toMatch(/^\| ours \/ limit +\| +0\.60 \| +0\.42 \| +0\.80 \| ≥ 0\.7 missed \|$/)
})

test('a contender has its median rate, its spread and what one operation costs', () => {
  expect(reportContest(result)).toMatch(
    /\| ours +\| +300 \| +210 \| +400 \| +432 \| +0 \| +2\.0 \| +2\.0 \| +850 \| +1\.00 \| +4\.00 \|/,
  )
})

test('a duration that is given rather than measured is left out', () => {
  expect(reportContest(result)).toMatch(/\| theirs +\| +100 \| +100 \| +100 \| +432 \| +0 \| +\| +\|/)
})

test('a figure of the workload has a table, and a ratio of it says which and may have an upper aim', () => {
  const withFigure = (value: number) => ({ ...rate(1, 1), figures: { 'requests each': value } })
  const figures: ContestResult = {
    name: 'x',
    ratios: [
      { of: 'ours', to: 'theirs', atMost: 0.5, figure: 'requests each' },
      { of: 'ours', to: 'ours', figure: 'requests each', toFigure: 'p99 ms' },
    ],
    references: {},
    figure: 'per second',
    measurements: { ours: [withFigure(1), withFigure(3)], theirs: [withFigure(10), withFigure(10)] },
  }
  const text = reportContest(figures)
  expect(text).toMatch(/\| ours \/ theirs, requests each +\| +0\.20 \| +0\.10 \| +0\.30 \| ≤ 0\.5 met \|/)
  expect(text).toMatch(/\| ours: requests each \/ p99 ms +\| +2\.00 \|/)
  expect(text).toMatch(/\| ours +\| +2\.00 \(1\.00 to 3\.00\) \|/)
})

test('a computed reference is named under the table', () => {
  expect(reportContest(result)).toContain('limit: 500 per second')
})
