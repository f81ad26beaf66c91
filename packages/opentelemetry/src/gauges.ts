import type { Meter, Observable } from '@opentelemetry/api'
import type { GaugeReading, Telemetry } from '@outlay/core'

/** Creates the gauges of a meter. A result is cached for `intervalMs`, so that many collectors cost one read. */
export function createGauges(meter: Meter, intervalMs: number): Telemetry['gauges'] {
  return (instruments, read) => {
    const observables = new Map<string, Observable>()
    for (const { name, unit, description } of instruments) {
      observables.set(name, meter.createObservableGauge(name, { unit, description }))
    }
    const latest = keepFor(intervalMs, read)
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

/** Repeats a read when the last one is older than `ms`. A failed read gives nothing and is repeated the next time. */
function keepFor(ms: number, read: () => Promise<readonly GaugeReading[]>): () => Promise<readonly GaugeReading[]> {
  let reading: Promise<readonly GaugeReading[]> | undefined
  let readAtMs = 0
  return async () => {
    const now = performance.now()
    if (reading === undefined || now - readAtMs >= ms) {
      readAtMs = now
      reading = read()
    }
    const mine = reading
    try {
      return await mine
    } catch {
      if (reading === mine) reading = undefined
      return []
    }
  }
}
