import type { BacklogPort } from '../ports/backlog.ts'
import type { Clock } from '../ports/runtime.ts'
import type { GaugeReading, Instrument, Telemetry } from '../ports/telemetry.ts'
import { instruments } from './instruments.ts'

const { backlog, unsubmittedAge, undelivered, lag, deadLetters, gaugeAge } = instruments

/** Gauges that are read together, and wait for no others. */
interface GaugeGroup {
  readonly instruments: readonly Instrument[]
  read(backend: BacklogPort): Promise<readonly GaugeReading[]>
}

/** Each is read by itself: the count of all transfers may take long, and must not keep the others from being read. */
const groups: readonly GaugeGroup[] = [
  {
    instruments: [unsubmittedAge],
    read: async (backend) => [{ instrument: unsubmittedAge, value: (await backend.unsubmittedMs()) / 1000 }],
  },
  {
    instruments: [undelivered, lag, deadLetters],
    read: async (backend) =>
      (await backend.subscriptionDelays()).flatMap((subscription) => {
        const attributes = { 'outlay.subscription': subscription.name }
        return [
          { instrument: undelivered, value: subscription.undelivered, attributes },
          { instrument: lag, value: subscription.lagMs / 1000, attributes },
          { instrument: deadLetters, value: subscription.deadLetters, attributes },
        ]
      }),
  },
  {
    instruments: [backlog],
    async read(backend) {
      const counts = await backend.backlog()
      const stages = {
        held: counts.held,
        queued: counts.queued,
        submitting: counts.submitting,
        awaiting_funds: counts.awaitingFunds,
        submitted: counts.submitted,
        blocked: counts.blocked,
      }
      return Object.entries(stages).map(([stage, value]) => ({
        instrument: backlog,
        value,
        attributes: { 'outlay.stage': stage },
      }))
    },
  },
]

/**
 * Reports counts and delays at every collection, and how long ago each of them was read. Returns a function that ends it. A gauge that was
 * never read is as old as the report.
 */
export function reportGauges(telemetry: Telemetry, backend: BacklogPort, clock: Clock): () => void {
  const beganMs = clock.now().getTime()
  const readMs = new Map<string, number>()
  const ends = groups.map(({ instruments: read, ...group }) =>
    telemetry.gauges(read, async () => {
      const atMs = clock.now().getTime()
      const readings = await group.read(backend)
      for (const { name } of read) readMs.set(name, atMs)
      return readings
    }),
  )
  const readAges = async () => {
    const nowMs = clock.now().getTime()
    return groups
      .flatMap((group) => group.instruments)
      .map(({ name }) => ({
        instrument: gaugeAge,
        value: Math.max(0, nowMs - (readMs.get(name) ?? beganMs)) / 1000,
        attributes: { 'outlay.gauge': name },
      }))
  }
  ends.push(telemetry.gauges([gaugeAge], readAges))
  return () => {
    for (const end of ends) end()
  }
}
