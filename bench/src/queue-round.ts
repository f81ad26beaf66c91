import { setTimeout as sleep } from 'node:timers/promises'
import { waitUntil } from '@outlay/testing'
import type { JobQueue } from './contenders/job-queue.ts'
import type { Contender } from './contest.ts'
import { createDeliveries, type Deliveries } from './deliveries.ts'
import { type Measurement, measure, usageHere } from './measurement.ts'
import { sendSteadily } from './steady-host.ts'

/** Time that a handler takes, in milliseconds. */
const handleMs = 5

/** Jobs that hosts commit a second, where the rate is steady. */
export const steadyPerSecond = 200

/** How long the last job may take after the last commit, in milliseconds. */
const patienceMs = 120_000

/** Names of the figures that every turn of a queue has. */
const faultFigures = { lost: 'lost', repeated: 'delivered again' } as const

/** Figures of a turn, by name. */
export type Figures = Readonly<Record<string, number>>

/** What happens to a queue during a turn; returns what computes the figures when all is delivered. */
export type Disturbance = (seconds: number, queue: JobQueue) => Promise<(deliveries: Deliveries) => Figures>

/** Makes a contender of a queue at a steady rate under a disturbance. */
export function steadyContender(queue: JobQueue, numbers: { next: number }, disturb: Disturbance): Contender {
  return {
    name: queue.name,
    async round(seconds) {
      await queue.database.admin.query('vacuum analyze')
      return measureQueue(queue, async (deliveries) => {
        const rate = { perSecond: steadyPerSecond, seconds }
        const [sent, compute] = await Promise.all([
          sendSteadily(queue, numbers, rate, deliveries),
          disturb(seconds, queue),
        ])
        return { sent, compute }
      })
    },
  }
}

/** What a host sent in a turn, and the figures of the turn. */
export interface Turn {
  readonly sent: readonly number[]
  readonly compute: (deliveries: Deliveries) => Figures
}

/**
 * Measures a turn of a queue until it is empty: every delivered job was committed, and every committed one was delivered where
 * the queue keeps all.
 */
export async function measureQueue(
  queue: JobQueue,
  work: (deliveries: Deliveries) => Promise<Turn>,
): Promise<Measurement> {
  const { name, database } = queue
  const deliveries = createDeliveries()
  await queue.start(async (n) => {
    deliveries.deliver(n)
    await sleep(handleMs)
  })
  let sent: readonly number[] = []
  const measurement = await measure(database.admin, usageHere(database.statements), async () => {
    const turn = await work(deliveries)
    sent = turn.sent
    await waitUntil(async () => (await queue.countOpen()) === 0, {
      timeoutMs: patienceMs,
      describe: () => `${name}: nothing to be left; ${deliveries.count()} of ${sent.length} were delivered`,
    })
    const faults = {
      [faultFigures.lost]: deliveries.missing(sent).length,
      [faultFigures.repeated]: deliveries.repeated(),
    }
    const figures = { ...turn.compute(deliveries), ...faults }
    return { operations: deliveries.count(), latenciesMs: deliveries.latenciesMs(), figures }
  })
  await queue.stop()
  await prove(queue, sent, deliveries)
  return measurement
}

async function prove({ name, database, keepsAll }: JobQueue, sent: readonly number[], deliveries: Deliveries) {
  const committed = await database.count('select count(*) from invoice where id = any ($1::bigint[])', [sent])
  const missing = deliveries.missing(sent)
  if (committed !== sent.length) throw new Error(`${name}: ${sent.length} were sent, ${committed} are committed.`)
  if (deliveries.count() + missing.length !== sent.length) {
    throw new Error(`${name}: ${sent.length} were committed, ${deliveries.count()} others or more were delivered.`)
  }
  if (keepsAll && missing.length > 0) {
    throw new Error(`${name}: ${missing.length} of ${sent.length} were lost, such as ${missing.slice(0, 5)}.`)
  }
}
