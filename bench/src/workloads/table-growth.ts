import { setTimeout as sleep } from 'node:timers/promises'
import type { JobQueue } from '../contenders/job-queue.ts'
import { openJobQueues } from '../contenders/job-queues.ts'
import type { Contender, Workload } from '../contest.ts'
import type { Deliveries } from '../deliveries.ts'
import { type Figures, measureQueue } from '../queue-round.ts'
import { commitSurely } from '../steady-host.ts'

/** Hosts at once, jobs of one transaction, and most jobs that are committed and not delivered. */
const hosts = 8
const batch = 20
const window = 1_000

const quarters = 4

const figures = { first: 'first quarter/s', last: 'last quarter/s', each: 'bytes per job', size: 'kB' } as const

/** Tables of a queue after many jobs, under autovacuum as it is by default. */
export const tableGrowth: Workload = {
  name: 'table-growth',
  title: `One job, as many a second as are delivered: ${hosts} hosts commit ${batch} at once while fewer than ${window} wait.`,
  seconds: 30,
  async open(serverUrl) {
    const queues = await openJobQueues(serverUrl, 'table_growth')
    const [outlay, ...rivals] = queues.map(({ name }) => name)
    if (outlay === undefined) throw new Error('There is no queue.')
    const numbers = { next: 1 }
    return {
      contests: [
        {
          name: 'table-growth',
          contenders: queues.map((queue) => contender(queue, numbers)),
          ratios: [
            ...queues.map(({ name, keepsAll }) => ({
              ...{ of: name, to: name, figure: figures.last, toFigure: figures.first },
              ...(keepsAll ? { aim: 0.9 } : {}),
            })),
            ...rivals.flatMap((rival) => [
              { of: outlay, to: rival, figure: figures.each },
              { of: outlay, to: rival },
            ]),
          ],
          references: {},
          warmUpSeconds: 2,
        },
      ],
      close: async () => {
        for (const queue of queues) await queue.close()
      },
    }
  },
}

/** Each turn begins with empty tables, as if they were new. */
function contender(queue: JobQueue, numbers: { next: number }): Contender {
  return {
    name: queue.name,
    async round(seconds) {
      await queue.empty()
      await queue.database.admin.query('vacuum full analyze')
      return measureQueue(queue, async (deliveries) => {
        const before = await readTables(queue)
        const from = performance.now()
        const sent = await sendInWindow(queue, numbers, from + seconds * 1000, deliveries)
        const to = performance.now()
        const after = await readTables(queue)
        const open = await queue.countOpen()
        return {
          sent,
          compute: () => ({
            ...quarterRates(deliveries, from, to),
            [figures.size]: after.bytes / 1024,
            [figures.each]: (after.bytes - before.bytes) / sent.length,
            'open jobs': open,
            rows: after.live,
            'dead rows': after.dead,
          }),
        }
      })
    },
  }
}

async function sendInWindow(
  queue: JobQueue,
  numbers: { next: number },
  endsAt: number,
  deliveries: Deliveries,
): Promise<readonly number[]> {
  const sent: number[] = []
  const host = async () => {
    while (performance.now() < endsAt) {
      if (sent.length - deliveries.count() >= window) {
        await sleep(2)
        continue
      }
      const own = Array.from({ length: batch }, () => numbers.next++)
      sent.push(...own)
      await commitSurely(queue, own, deliveries)
    }
  }
  await Promise.all(Array.from({ length: hosts }, host))
  return sent
}

function quarterRates(deliveries: Deliveries, from: number, to: number): Figures {
  const quarter = (to - from) / quarters
  const rate = (n: number) => (deliveries.countBetween(from + n * quarter, from + (n + 1) * quarter) / quarter) * 1000
  return { [figures.first]: rate(0), [figures.last]: rate(quarters - 1) }
}

/** Length of the queue's tables with their indexes, and the rows in them, dead ones too, as the statistics have them. */
async function readTables({ database, tables }: JobQueue) {
  const read = (what: string) =>
    database.count(`select coalesce(sum(${what}), 0) from pg_class c where c.relkind = 'r' and (${tables})`)
  return {
    bytes: await read('pg_total_relation_size(c.oid)'),
    live: await read('pg_stat_get_live_tuples(c.oid)'),
    dead: await read('pg_stat_get_dead_tuples(c.oid)'),
  }
}
