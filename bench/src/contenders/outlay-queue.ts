import { pgDriver, postgres } from '@outlay/adapters-pg'
import { createEngine, type Engine } from '@outlay/core'
import { silentLogger } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { createHostTable } from '../enqueue-host.ts'
import { openQueueDatabase } from '../queue-database.ts'
import { sampleTransfer } from '../sample-transfer.ts'
import { type JobQueue, slots, workerConnections } from './job-queue.ts'
import { acceptingGateway, numberOfSubmission } from './outlay-stage.ts'
import { outboxTable, queueTables } from './queue.ts'

/** Outlay with a gateway in this process. A delivery is a request to the gateway; a repeated one has the key of the first. */
export async function openOutlayQueue(serverUrl: string, workload: string): Promise<JobQueue> {
  const database = await openQueueDatabase(serverUrl, `bench_${workload}_outlay`, workerConnections)
  let handler: (n: number) => Promise<void> = () => Promise.reject(new Error('No worker was started.'))
  const makeEngine = (pool: typeof database.host) =>
    createEngine({
      backend: postgres({ driver: pgDriver(pool), logger: silentLogger }),
      gateway: acceptingGateway((submission) => handler(numberOfSubmission(submission))),
      runtime: { logger: silentLogger },
    })
  const sender = makeEngine(database.host)
  await sender.migrate()
  await createHostTable(database.admin)
  let running: Engine<PoolClient> | undefined
  return {
    name: 'outlay',
    database,
    send: (client, numbers) => {
      const [first = 0, ...more] = numbers
      if (more.length === 0) return sender.transfers.enqueue(client, sampleTransfer(first))
      return sender.transfers.enqueueMany(client, numbers.map(sampleTransfer))
    },
    async start(handle) {
      handler = handle
      running = makeEngine(database.worker)
      await running.start({ concurrency: slots })
    },
    stop: async () => running?.stop(),
    countOpen: () =>
      database.count(`select count(*) from outlay.transfer where stage not in ('submitted', 'settled')
        or remote_id is distinct from 'remote-' || submission_key`),
    async empty() {
      await database.admin.query(`truncate outlay.transfer, outlay.event, outlay.attempt, outlay.delivery`)
      await database.admin.query(`truncate ${outboxTable}`)
    },
    tables: queueTables,
    keepsAll: true,
    close: () => database.close(),
  }
}
