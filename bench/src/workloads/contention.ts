import { pgLibrary } from '../contenders/host-library.ts'
import { openInsertAlone } from '../contenders/insert-alone-enqueue.ts'
import { openOutlayEnqueue } from '../contenders/outlay-enqueue.ts'
import { startWorkerProcess } from '../contenders/worker-process.ts'
import type { Contender, Contest, Workload } from '../contest.ts'
import { type EnqueueHost, enqueueContender } from '../enqueue-host.ts'
import { sampleWaits } from '../waits.ts'

const clientCounts = [1, 4, 16, 64, 256]

/** Requests under way at once in the worker, and the time of each. */
const worker = { concurrency: 100, latencyMs: 20 }

const withWorker = 'outlay with a worker'

/** What sessions wait for, from one client to many more than the server has cores. */
export const contention: Workload = {
  name: 'contention',
  title: 'One host transaction, as in enqueue, while pg_stat_activity is sampled every 10 ms.',
  seconds: 4,
  async open(serverUrl) {
    const most = Math.max(...clientCounts)
    const insert = await openInsertAlone(serverUrl, most, pgLibrary)
    const outlay = await openOutlayEnqueue(serverUrl, most, pgLibrary)
    const worked = await openOutlayEnqueue(serverUrl, most, pgLibrary, 'bench_outlay_worked')
    const numbers = { next: 1 }
    return {
      contests: clientCounts.map((clients) => contest([insert, outlay, worked], clients, numbers)),
      close: async () => {
        for (const host of [insert, outlay, worked]) await host.close()
      },
    }
  },
}

function contest(
  hosts: readonly [EnqueueHost, EnqueueHost, EnqueueHost],
  clients: number,
  numbers: { next: number },
): Contest {
  const [insert, outlay, worked] = hosts
  const sampled = (host: EnqueueHost) =>
    enqueueContender(host, clients, numbers, (measured) => sampleWaits(host.database.url, measured))
  return {
    name: clients === 1 ? '1 client' : `${clients} clients`,
    contenders: [sampled(insert), sampled(outlay), beside(worked, sampled)],
    ratios: [
      { of: outlay.name, to: insert.name },
      { of: withWorker, to: outlay.name },
      // A tenth of a session: nobody queues behind a lock that all enqueues or all claims would share.
      { of: outlay.name, to: 'one session', figure: 'row or table lock', toFigure: 'row or table lock', atMost: 0.1 },
      { of: outlay.name, to: 'one session', figure: 'notification lock', toFigure: 'notification lock', atMost: 0.1 },
      { of: withWorker, to: 'one session', figure: 'row or table lock', toFigure: 'row or table lock', atMost: 0.1 },
      { of: withWorker, to: 'one session', figure: 'notification lock', toFigure: 'notification lock', atMost: 0.1 },
    ],
    references: { 'one session': 1 },
    warmUpSeconds: 1,
  }
}

/** The same while a worker process claims and settles what the host enqueues. */
function beside(outlay: EnqueueHost, sampled: (host: EnqueueHost) => Contender): Contender {
  const { database } = outlay
  // The worker takes jobs away, so only the transfers are counted.
  const host = {
    ...outlay,
    name: withWorker,
    countComplete: () =>
      database.count(`select count(*) from invoice i join outlay.transfer t on t.idempotency_key = 'invoice-' || i.id`),
    countRest: async () => [await database.count('select count(*) from outlay.transfer')],
  }
  return {
    name: withWorker,
    async round(seconds) {
      const process = await startWorkerProcess({ databaseUrl: database.url, ...worker })
      try {
        return await sampled(host).round(seconds)
      } finally {
        await process.stop()
      }
    },
  }
}
