import { setTimeout as sleep } from 'node:timers/promises'
import { openJobQueues } from '../contenders/job-queues.ts'
import type { Contender, Workload } from '../contest.ts'
import { endWorkerBackend } from '../queue-database.ts'
import { type Disturbance, steadyContender, steadyPerSecond } from '../queue-round.ts'

/** Time between two kills, in milliseconds. */
const killEveryMs = 500

/** Backends of the worker that are ended under load. */
export const backendKill: Workload = {
  name: 'backend-kill',
  title: `One job, ${steadyPerSecond} committed a second, while a backend of the worker at random is ended every ${killEveryMs} ms.`,
  seconds: 20,
  async open(serverUrl) {
    const queues = await openJobQueues(serverUrl, 'backend_kill')
    const [outlay, ...rivals] = queues.map(({ name }) => name)
    if (outlay === undefined) throw new Error('There is no queue.')
    const numbers = { next: 1 }
    return {
      contests: [
        {
          name: 'backend-kill',
          contenders: queues.map((queue) => withoutServerTime(steadyContender(queue, numbers, killBackends))),
          ratios: rivals.flatMap((rival) => [
            { of: outlay, to: rival },
            { of: outlay, to: rival, figure: 'p99 ms' },
            { of: outlay, to: rival, figure: 'slowest ms' },
          ]),
          references: {},
          figure: 'p50 ms',
          warmUpSeconds: 3,
        },
      ],
      close: async () => {
        for (const queue of queues) await queue.close()
      },
    }
  },
}

const killBackends: Disturbance = async (seconds, { database }) => {
  const endsAt = performance.now() + seconds * 1000
  let killed = 0
  while (performance.now() < endsAt) {
    await sleep(killEveryMs)
    if (await endWorkerBackend(database)) killed += 1
  }
  return (deliveries) => ({ killed, 'slowest ms': deliveries.latenciesMs().reduce((a, b) => Math.max(a, b), 0) })
}

/** The processor time of sessions that ended is unknown. */
const withoutServerTime = ({ name, round }: Contender): Contender => ({
  name,
  round: async (seconds) => ({ ...(await round(seconds)), serverCpuUs: null }),
})
