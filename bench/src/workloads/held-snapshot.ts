import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { openJobQueues } from '../contenders/job-queues.ts'
import type { Workload } from '../contest.ts'
import { type Disturbance, steadyContender, steadyPerSecond } from '../queue-round.ts'
import { quantile } from '../spread.ts'

const figures = {
  without: 'p50 without ms',
  held: 'p50 held ms',
  slowWithout: 'p99 without ms',
  slowHeld: 'p99 held ms',
} as const

/** A session that holds an old snapshot for the second half of a turn, so that vacuum cannot remove rows deleted since. */
export const heldSnapshot: Workload = {
  name: 'held-snapshot',
  title: `One job, ${steadyPerSecond} committed a second; in the second half of a turn another session holds a snapshot.`,
  seconds: 30,
  async open(serverUrl) {
    const queues = await openJobQueues(serverUrl, 'held_snapshot')
    const numbers = { next: 1 }
    return {
      contests: [
        {
          name: 'held-snapshot',
          contenders: queues.map((queue) => steadyContender(queue, numbers, holdSnapshot)),
          ratios: queues.flatMap(({ name, keepsAll }) => [
            { of: name, to: name, figure: figures.held, toFigure: figures.without, ...(keepsAll ? { atMost: 2 } : {}) },
            { of: name, to: name, figure: figures.slowHeld, toFigure: figures.slowWithout },
          ]),
          references: {},
          figure: figures.held,
          warmUpSeconds: 2,
        },
      ],
      close: async () => {
        for (const queue of queues) await queue.close()
      },
    }
  },
}

const holdSnapshot: Disturbance = async (seconds, { database }) => {
  await sleep((seconds / 2) * 1000)
  const reader = new Client({ connectionString: database.url })
  await reader.connect()
  const count = async () => String((await reader.query<{ n: string }>('select count(*) as n from invoice')).rows[0]?.n)
  try {
    await reader.query('begin isolation level repeatable read')
    const before = await count()
    const from = performance.now()
    await sleep((seconds / 2) * 1000)
    if ((await count()) !== before) throw new Error('The reader lost its snapshot.')
    return (deliveries) => {
      const [without, held] = [deliveries.latenciesMs(0, from), deliveries.latenciesMs(from)]
      return {
        [figures.without]: quantile(without, 0.5),
        [figures.held]: quantile(held, 0.5),
        [figures.slowWithout]: quantile(without, 0.99),
        [figures.slowHeld]: quantile(held, 0.99),
      }
    }
  } finally {
    await reader.end()
  }
}
