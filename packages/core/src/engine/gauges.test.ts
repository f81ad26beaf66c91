import { expect, it } from 'vitest'
import type { Backlog, BacklogPort } from '../ports/backlog.ts'
import type { GaugeReading, Telemetry } from '../ports/telemetry.ts'
import { reportGauges } from './gauges.ts'

/** Telemetry whose gauges a test reads one by one. */
function open(backend: Partial<BacklogPort>) {
  let nowMs = 0
  const clock = { now: () => new Date(nowMs) }
  const reads = new Map<string, () => Promise<readonly GaugeReading[]>>()
  const gauges: Telemetry['gauges'] = (instruments, read) => {
    for (const { name } of instruments) reads.set(name, read)
    return () => {
      for (const { name } of instruments) reads.delete(name)
    }
  }
  const end = reportGauges({ gauges } as Telemetry, backend as BacklogPort, clock)
  const read = async (name: string) =>
    Object.fromEntries(
      ((await reads.get(name)?.()) ?? [])
        .filter(({ instrument }) => instrument.name === name)
        .map(({ value, attributes = {} }) => [Object.values(attributes).join(), value]),
    )
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { pass, reads, read, end }
}

it('gauges are read while the count of all transfers takes long, and each says how old it is', async () => {
  const count = Promise.withResolvers<Backlog>()
  const { pass, read, reads, end } = open({
    backlog: () => count.promise,
    unsubmittedMs: async () => 5_000,
    subscriptionDelays: async () => [{ name: 'books', undelivered: 3, deadLetters: 1, lagMs: 7_000 }],
  })
  const counting = read('outlay.transfer.backlog')
  pass(60_000)
  expect(await read('outlay.transfer.unsubmitted.age')).toEqual({ '': 5 })
  expect(await read('outlay.subscription.lag')).toEqual({ books: 7 })
  expect(await read('outlay.subscription.dead_letters')).toEqual({ books: 1 })
  pass(30_000)
  const ages = {
    'outlay.transfer.unsubmitted.age': 30,
    'outlay.subscription.backlog': 30,
    'outlay.subscription.lag': 30,
    'outlay.subscription.dead_letters': 30,
  }
  expect(await read('outlay.gauge.age')).toEqual({ ...ages, 'outlay.transfer.backlog': 90 })
  const nothing = { held: 0, queued: 0, submitting: 0, awaitingFunds: 0, submitted: 0, settled: 0, undelivered: 0 }
  count.resolve({ ...nothing, blocked: 2, deadLetters: 0 })
  expect(await counting).toMatchObject({ blocked: 2, awaiting_funds: 0 })
  // Since it began: that is the moment that it counts.
  pass(10_000)
  expect(await read('outlay.gauge.age')).toMatchObject({ 'outlay.transfer.backlog': 100 })
  end()
  expect(reads.size).toBe(0)
})

it('a gauge that cannot be read grows older', async () => {
  const { pass, read } = open({ unsubmittedMs: () => Promise.reject(new Error('gone')) })
  await expect(read('outlay.transfer.unsubmitted.age')).rejects.toThrow('gone')
  pass(400_000)
  expect(await read('outlay.gauge.age')).toMatchObject({ 'outlay.transfer.unsubmitted.age': 400 })
})
