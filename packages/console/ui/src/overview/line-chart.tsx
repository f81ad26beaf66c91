import { useEffect, useRef } from 'react'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

/** One line of a chart. */
export interface Series {
  readonly label: string
  readonly tone: 'good' | 'bad' | 'busy' | 'idle'
  readonly values: readonly (number | null)[]
}

interface Drawing {
  readonly title: string
  /** Seconds since 1970. */
  readonly times: readonly number[]
  /** How long before now it begins, in seconds: a few counts alone would span years. */
  readonly span: number
  readonly series: readonly Series[]
  readonly write: (value: number) => string
}

const height = 180

function draw(into: HTMLElement, { times, span, series, write }: Drawing): UPlot {
  const now = Date.now() / 1_000
  const style = getComputedStyle(document.documentElement)
  // A canvas knows no variables: each colour is resolved by an element that has it.
  const probe = document.createElement('span')
  into.append(probe)
  const color = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const axis = {
    stroke: color('muted'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  }
  const chart = new UPlot(
    {
      width: Math.max(200, into.clientWidth),
      height,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 6 } },
      scales: {
        x: { range: (_, min, max) => [Math.min(min, now - span), Math.max(max, now)] },
        y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] },
      },
      axes: [axis, { ...axis, size: 64, values: (_, ticks) => ticks.map((tick) => write(tick)) }],
      series: [
        {},
        ...series.map(({ label, tone }) => ({
          label,
          stroke: color(tone),
          width: 1.75,
          points: { show: times.length < 3 },
        })),
      ],
    },
    [[...times], ...series.map(({ values }) => [...values])] as UPlot.AlignedData,
    into,
  )
  probe.remove()
  return chart
}

/** Lines over time. What they show stands in a table beside it, too. */
export function LineChart(drawing: Drawing) {
  const place = useRef<HTMLDivElement>(null)
  const { title, times, span, series, write } = drawing
  const key = JSON.stringify([times, span, series])
  useEffect(() => {
    const into = place.current
    if (into === null) return
    let chart = draw(into, { title, times, span, series, write })
    const again = () => {
      chart.destroy()
      chart = draw(into, { title, times, span, series, write })
    }
    const resized = new ResizeObserver(() => chart.setSize({ width: Math.max(200, into.clientWidth), height }))
    resized.observe(into)
    const themed = new MutationObserver(again)
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', again)
    return () => {
      resized.disconnect()
      themed.disconnect()
      scheme.removeEventListener('change', again)
      chart.destroy()
    }
  }, [key])
  const last = (values: Series['values']) => values.findLast((value) => value !== null)
  return (
    <figure>
      <figcaption>
        <h3>{title}</h3>
        <ul className="legend">
          {series.map(({ label, tone, values }) => {
            const value = last(values)
            return (
              <li key={label} className={tone}>
                <span className="dot" aria-hidden="true" />
                {label} {value === undefined || value === null ? '' : write(value)}
              </li>
            )
          })}
        </ul>
      </figcaption>
      <div
        ref={place}
        className="chart"
        role="img"
        aria-label={`${title} over time; the table below has the numbers`}
      />
    </figure>
  )
}
