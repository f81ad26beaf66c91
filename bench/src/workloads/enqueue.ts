import { openGraphileWorker } from '../contenders/graphile-worker-enqueue.ts'
import {
  openOutlayDrizzle,
  openOutlayKnex,
  openOutlayKysely,
  openOutlayPg,
  openOutlayPrisma,
} from '../contenders/outlay-enqueue.ts'
import { openPgBoss } from '../contenders/pg-boss-enqueue.ts'
import { openHostRow, openInsertAlone } from '../contenders/plain-insert.ts'
import type { Contest, Ratio, Workload } from '../contest.ts'
import { type EnqueueHost, enqueueContender } from '../enqueue-host.ts'

const clientCounts = [1, 16, 64]

/** The number of clients of the aims. */
const aimedClients = 16

/** One transfer in each host transaction. */
export const enqueue: Workload = {
  name: 'enqueue',
  title: 'One host transaction: begin, insert the host’s row, enqueue one transfer, commit.',
  seconds: 3,
  async open(serverUrl) {
    const most = Math.max(...clientCounts)
    const hosts = [
      await openOutlayPg(serverUrl, most),
      await openOutlayDrizzle(serverUrl, most),
      await openOutlayKysely(serverUrl, most),
      await openOutlayKnex(serverUrl, most),
      await openOutlayPrisma(serverUrl, most),
      await openPgBoss(serverUrl, most, { prepared: false }),
      await openPgBoss(serverUrl, most, { prepared: true }),
      await openGraphileWorker(serverUrl, most),
      await openInsertAlone(serverUrl, most),
      await openHostRow(serverUrl, most),
    ]
    const numbers = { next: 1 }
    return {
      contests: clientCounts.map((clients) => contest(hosts, clients, numbers)),
      close: async () => {
        for (const host of hosts) await host.close()
      },
    }
  },
}

function contest(hosts: readonly EnqueueHost[], clients: number, numbers: { next: number }): Contest {
  const aim = (value: number) => (clients === aimedClients ? { aim: value } : {})
  const ratios: readonly Ratio[] = [
    { of: 'outlay, pg', to: 'INSERT + boss.send', ...aim(2.2) },
    { of: 'outlay, pg', to: 'INSERT alone', ...aim(0.8) },
    { of: 'outlay, pg', to: 'INSERT + add_job', ...aim(2) },
    { of: 'outlay, pg', to: 'INSERT + boss.send, prepared' },
    ...['drizzle', 'kysely', 'knex', 'prisma'].map((library) => ({ of: `outlay, ${library}`, to: 'outlay, pg' })),
    { of: 'outlay, pg', to: 'host row alone' },
  ]
  return {
    name: clients === 1 ? '1 client' : `${clients} clients`,
    contenders: hosts.map((host) => enqueueContender(host, clients, numbers)),
    ratios,
    references: {},
    warmUpSeconds: 1,
  }
}
