import type { Meter, Observable } from '@opentelemetry/api'
import type { GaugeReading, Telemetry } from '@outlay/core'

/** How long a collection waits for a read, in milliseconds: the other gauges of a scrape wait with it. */
const longestWaitMs = 1_000

/** How long the values of an earlier read stand for one that is late, in milliseconds, and after which time a read is taken for lost. */
const longestKeptMs = 300_000

/**
 * Creates the gauges of a meter. A result is cached for `intervalMs`, so that many collectors cost one read. Gauges that are created by
 * different calls are read by themselves: a read that takes long delays no other one.
 */
export function createGauges(meter: Meter, intervalMs: number): Telemetry['gauges'] {
  return (instruments, read) => {
    const observables = new Map<string, Observable>()
    for (const { name, unit, description } of instruments) {
      observables.set(name, meter.createObservableGauge(name, { unit, description }))
    }
    const latest = keepLatest(intervalMs, read)
    const observe = async (result: { observe(on: Observable, value: number, attributes?: object): void }) => {
      for (const { instrument, value, attributes } of await latest()) {
        const observable = observables.get(instrument.name)
        if (observable !== undefined) result.observe(observable, value, attributes ?? {})
      }
    }
    const all = [...observables.values()]
    meter.addBatchObservableCallback(observe, all)
    return () => meter.removeBatchObservableCallback(observe, all)
  }
}

interface Reading {
  readonly values: readonly GaugeReading[]
  readonly beganMs: number
  readonly endedMs: number
}

/**
 * Repeats a read when the last one ended `intervalMs` ago. One read is under way at a time, however long it takes; the values of the last one are
 * given meanwhile, up to a limit. A failed read gives nothing and is repeated the next time.
 */
function keepLatest(
  intervalMs: number,
  read: () => Promise<readonly GaugeReading[]>,
): () => Promise<readonly GaugeReading[]> {
  const keptMs = Math.max(longestKeptMs, 2 * intervalMs)
  let last: Reading | undefined
  let underWay: { readonly beganMs: number; readonly ended: Promise<void> } | undefined
  const begin = (beganMs: number) => {
    const isCurrent = () => underWay?.ended === ended
    const ended = Promise.resolve()
      .then(read)
      .then(
        (values) => {
          if (last === undefined || last.beganMs <= beganMs) last = { values, beganMs, endedMs: performance.now() }
          if (isCurrent()) underWay = undefined
        },
        () => {
          if (!isCurrent()) return
          last = undefined
          underWay = undefined
        },
      )
    underWay = { beganMs, ended }
    return ended
  }
  return async () => {
    const nowMs = performance.now()
    let reading = underWay?.ended
    if (underWay !== undefined && nowMs - underWay.beganMs >= keptMs) reading = begin(nowMs)
    if (underWay === undefined && (last === undefined || nowMs - last.endedMs >= intervalMs)) reading = begin(nowMs)
    if (reading !== undefined) await waitFor(reading)
    return last !== undefined && performance.now() - last.beganMs < keptMs ? last.values : []
  }
}

/** Waits for the end of a read, and no longer than a collection may wait. */
async function waitFor(reading: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, longestWaitMs)
  try {
    await Promise.race([reading, late.promise])
  } finally {
    clearTimeout(timer)
  }
}
