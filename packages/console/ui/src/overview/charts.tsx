import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Answer, call } from '../api/client.ts'
import { writeCount, writeMoment, writeSpan } from '../parts/format.tsx'
import { Panel } from '../parts/page.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { LineChart, type Series } from './line-chart.tsx'

type Bucket = Answer<'GET /stats'>['data'][number]

const spans = [
  ['24 hours', 'hour', 24 * 3_600_000],
  ['7 days', 'hour', 7 * 24 * 3_600_000],
  ['90 days', 'day', 90 * 24 * 3_600_000],
] as const

/** Throughput, outcomes and latency over hours and days, from counts that the engine keeps. */
export function Charts() {
  const [at, choose] = useState(0)
  const [word, step, spanMs] = spans[at] ?? spans[0]
  const stats = useQuery({
    queryKey: ['stats', word],
    queryFn: async ({ signal }) => {
      const from = new Date(Math.floor((Date.now() - spanMs) / 3_600_000) * 3_600_000).toISOString()
      return (await call('GET /stats', { query: { from, step }, signal })).data
    },
    refetchInterval: 300_000,
  })
  return (
    <Panel
      title="Throughput and latency"
      actions={
        <fieldset className="segments">
          <legend className="visually-hidden">Time span</legend>
          {spans.map(([name], index) => (
            <button key={name} type="button" aria-pressed={index === at} onClick={() => choose(index)}>
              {name}
            </button>
          ))}
        </fieldset>
      }
    >
      {stats.data === undefined ? (
        stats.error === null ? (
          <Loading what="Reading the counts" />
        ) : (
          <Failed error={stats.error} />
        )
      ) : (
        <Drawn buckets={stats.data} span={spanMs / 1_000} />
      )}
    </Panel>
  )
}

function Drawn({ buckets, span }: { readonly buckets: readonly Bucket[]; readonly span: number }) {
  if (buckets.length === 0) return <p className="muted">Nothing was counted in this time.</p>
  const line = (label: string, tone: Series['tone'], read: (one: Bucket) => number | null): Series => ({
    ...{ label, tone, values: buckets.map(read) },
  })
  const times = buckets.map(({ at }) => Date.parse(at) / 1_000)
  return (
    <>
      <div className="charts">
        <LineChart
          title="Transfers"
          times={times}
          span={span}
          write={writeCount}
          series={[
            line('enqueued', 'busy', ({ enqueued }) => enqueued),
            line('complete', 'good', ({ completed }) => completed),
            line('failed', 'bad', ({ failed }) => failed),
            line('canceled', 'idle', ({ canceled }) => canceled),
          ]}
        />
        <LineChart
          title="Time to accepted"
          times={times}
          span={span}
          write={writeSpan}
          series={[
            line('half within', 'good', ({ toAccepted }) => toAccepted.p50Ms),
            line('95 % within', 'busy', ({ toAccepted }) => toAccepted.p95Ms),
          ]}
        />
        <LineChart
          title="Time to final"
          times={times}
          span={span}
          write={writeSpan}
          series={[
            line('half within', 'good', ({ toFinal }) => toFinal.p50Ms),
            line('95 % within', 'busy', ({ toFinal }) => toFinal.p95Ms),
          ]}
        />
      </div>
      <details>
        <summary>The same as a table</summary>
        <div className="table-frame">
          <table>
            <thead>
              <tr>
                {['From', 'Enqueued', 'Complete', 'Failed', 'Canceled'].map((name) => (
                  <th key={name} scope="col" className={name === 'From' ? '' : 'end'}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {buckets.toReversed().map((one) => (
                <tr key={one.at}>
                  <td>{writeMoment(one.at)}</td>
                  <td className="end">{writeCount(one.enqueued)}</td>
                  <td className="end">{writeCount(one.completed)}</td>
                  <td className="end">{writeCount(one.failed)}</td>
                  <td className="end">{writeCount(one.canceled)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  )
}
