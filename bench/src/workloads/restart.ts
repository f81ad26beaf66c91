import { setTimeout as sleep } from 'node:timers/promises'
import type { JobQueue } from '../contenders/job-queue.ts'
import { openJobQueues } from '../contenders/job-queues.ts'
import type { Contender, Workload } from '../contest.ts'
import type { Deliveries } from '../deliveries.ts'
import { type Disturbance, type Figures, steadyContender, steadyPerSecond } from '../queue-round.ts'
import { quantile } from '../spread.ts'

/** Restarts in one turn, at equal distances. */
const restarts = 2

const figures = {
  down: 'down s',
  first: 'first delivery s',
  most: '99 % of backlog s',
  all: 'backlog s',
} as const

/** A span without a server, in milliseconds. */
interface Outage {
  readonly from: number
  readonly to: number
}

/** Restarts of Postgres under load. */
export const restart: Workload = {
  name: 'restart',
  title: `One job, ${steadyPerSecond} committed a second, while Postgres is restarted ${restarts} times a turn; backlog and first delivery count from its first answer.`,
  seconds: 30,
  restartsServer: true,
  async open(serverUrl, _size, restartServer) {
    const queues = await openJobQueues(serverUrl, 'restart')
    const [outlay, ...rivals] = queues.map(({ name }) => name)
    if (outlay === undefined) throw new Error('There is no queue.')
    const numbers = { next: 1 }
    return {
      contests: [
        {
          name: 'restart',
          contenders: queues.map((queue) => contender(queue, numbers, restartServer)),
          ratios: rivals.flatMap((rival) => [
            { of: outlay, to: rival },
            { of: outlay, to: rival, figure: figures.most },
            { of: outlay, to: rival, figure: 'p99 ms' },
          ]),
          references: {},
          figure: figures.first,
          warmUpSeconds: 3,
        },
      ],
      close: async () => {
        for (const queue of queues) await queue.close()
      },
    }
  },
}

function contender(queue: JobQueue, numbers: { next: number }, restartServer: () => Promise<void>): Contender {
  const disturb: Disturbance = async (seconds) => {
    const outages: Outage[] = []
    for (let n = 0; n < restarts; n += 1) {
      await sleep((seconds / (restarts + 1)) * 1000)
      const from = performance.now()
      await restartServer()
      outages.push({ from, to: performance.now() })
    }
    return (deliveries) => longest(outages.map((outage) => recovery(outage, deliveries)))
  }
  const steady = steadyContender(queue, numbers, disturb)
  return {
    name: queue.name,
    // The processor time of sessions that ended is unknown.
    round: async (seconds) => ({ ...(await steady.round(seconds)), serverCpuUs: null }),
  }
}

function recovery({ from, to }: Outage, deliveries: Deliveries): Figures {
  const backlog = deliveries.backlogAt(to).map((at) => at - to)
  return {
    [figures.down]: (to - from) / 1000,
    [figures.first]: ((deliveries.firstAfter(to) ?? Number.NaN) - to) / 1000,
    [figures.most]: backlog.length === 0 ? 0 : quantile(backlog, 0.99) / 1000,
    [figures.all]: (backlog.at(-1) ?? 0) / 1000,
  }
}

/** The largest of each figure. */
function longest(all: readonly Figures[]): Figures {
  const names = Object.keys(all[0] ?? {})
  return Object.fromEntries(names.map((name) => [name, Math.max(...all.map((one) => one[name] ?? 0))]))
}
