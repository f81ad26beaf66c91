import { openDbos } from '../contenders/dbos-enqueue.ts'
import { openGraphileWorker } from '../contenders/graphile-worker-enqueue.ts'
import { drizzleLibrary, knexLibrary, kyselyLibrary, pgLibrary, prismaLibrary } from '../contenders/host-library.ts'
import { openInsertAlone } from '../contenders/insert-alone-enqueue.ts'
import { openJobTable } from '../contenders/job-table-enqueue.ts'
import { openOutlayEnqueue } from '../contenders/outlay-enqueue.ts'
import { openPgBoss } from '../contenders/pg-boss-enqueue.ts'
import { openHostRow } from '../contenders/plain-insert.ts'
import type { Contest, Ratio, Workload } from '../contest.ts'
import { type EnqueueHost, enqueueContender } from '../enqueue-host.ts'

const clientCounts = [1, 16, 64]

/** The numbers of clients of the aims. */
const aimedClients = [16, 64]

/** One transfer in each host transaction. */
export const enqueue: Workload = {
  name: 'enqueue',
  title: 'One host transaction: begin, insert the host’s row, enqueue one transfer, commit.',
  seconds: 3,
  async open(serverUrl) {
    const most = Math.max(...clientCounts)
    const hosts = [
      await openOutlayEnqueue(serverUrl, most, pgLibrary),
      await openOutlayEnqueue(serverUrl, most, drizzleLibrary),
      await openOutlayEnqueue(serverUrl, most, kyselyLibrary),
      await openOutlayEnqueue(serverUrl, most, knexLibrary),
      await openOutlayEnqueue(serverUrl, most, prismaLibrary),
      await openPgBoss(serverUrl, most, { prepared: false }),
      await openPgBoss(serverUrl, most, { prepared: true }),
      await openGraphileWorker(serverUrl, most),
      await openDbos(serverUrl, most),
      await openJobTable(serverUrl, most),
      await openInsertAlone(serverUrl, most, pgLibrary),
      await openInsertAlone(serverUrl, most, drizzleLibrary),
      await openInsertAlone(serverUrl, most, kyselyLibrary),
      await openInsertAlone(serverUrl, most, knexLibrary),
      await openInsertAlone(serverUrl, most, prismaLibrary),
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
  const aim = (value: number) => (aimedClients.includes(clients) ? { aim: value } : {})
  const libraries = ['drizzle', 'kysely', 'knex', 'prisma']
  const ratios: readonly Ratio[] = [
    { of: 'outlay, pg', to: 'INSERT + boss.send', ...aim(2.2) },
    { of: 'outlay, pg', to: 'INSERT + boss.send, prepared', ...aim(1.4) },
    { of: 'outlay, pg', to: 'INSERT + add_job', ...aim(2) },
    { of: 'outlay, pg', to: 'DBOS enqueueInTransaction' },
    { of: 'outlay, pg', to: 'one table, SKIP LOCKED' },
    { of: 'outlay, pg', to: 'INSERT alone', ...aim(0.8) },
    ...libraries.map((library) => ({ of: `outlay, ${library}`, to: `INSERT alone, ${library}`, ...aim(0.8) })),
    ...libraries.map((library) => ({ of: `outlay, ${library}`, to: 'outlay, pg' })),
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
